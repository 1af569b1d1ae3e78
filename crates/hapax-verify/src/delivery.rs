//! A delivery, and the interface of what signs it.

/// A delivery to be signed, or, once it is signed, to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The id, for providers that send it in a separate header.
    pub id: String,
    /// When it is signed, in Unix seconds.
    pub timestamp: i64,
    /// The HTTP method.
    pub method: String,
    /// The public URL that it is sent to.
    pub url: String,
    /// The request headers.
    pub headers: Vec<(String, String)>,
    /// The request body.
    pub body: Vec<u8>,
}

impl Default for Delivery {
    fn default() -> Self {
        Delivery {
            id: String::new(),
            timestamp: 0,
            method: "POST".to_owned(),
            url: String::new(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }
}

impl Delivery {
    /// Sets a header, replacing its previous value.
    pub(crate) fn set_header(&mut self, name: &str, value: &str) {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    /// Adds a parameter to the URL's query.
    pub(crate) fn add_to_query(&mut self, name: &str, value: &str) {
        let separator = if self.url.contains('?') { '&' } else { '?' };
        let pair = form_urlencoded::Serializer::new(String::new())
            .append_pair(name, value)
            .finish();
        self.url.push(separator);
        self.url.push_str(&pair);
    }
}

/// Signs a delivery: adds headers, or changes the URL or the body, as the provider does.
pub(crate) trait Sign: Send + Sync {
    fn sign(&self, delivery: &mut Delivery);

    /// Whether it adds the secret itself.
    fn sends_secret(&self) -> bool {
        false
    }
}
