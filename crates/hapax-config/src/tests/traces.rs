//! `[traces]`, and the environment variables that can replace it.

use super::*;

fn read_with(text: &str, variables: &[(&str, &str)]) -> Result<Option<Traces>, String> {
    let environment = Environment::with(variables.iter().copied());
    parse(text, Path::new("hapax.toml"), &environment, &[])
        .map(|config| config.traces)
        .map_err(|error| error.to_string())
}

#[test]
fn there_are_no_traces_unless_something_says_where_they_go() {
    assert_eq!(read_with("", &[]).unwrap(), None);
    assert_eq!(read_with("[traces]\nsample = 0.5", &[]).unwrap(), None);
    assert_eq!(
        read_with("", &[("OTEL_EXPORTER_OTLP_ENDPOINT", "")]).unwrap(),
        None
    );
}

#[test]
fn the_address_of_a_collector_is_enough() {
    for endpoint in [
        "http://collector:4318",
        "http://collector:4318/",
        "http://collector:4318/v1/traces",
    ] {
        let traces = read_with(&format!("[traces]\nendpoint = \"{endpoint}\""), &[])
            .unwrap()
            .unwrap();
        assert_eq!(traces.endpoint, "http://collector:4318/v1/traces");
        assert_eq!(
            (traces.service_name.as_str(), traces.timeout.as_secs()),
            ("hapax", 5)
        );
        assert!((traces.sample - 1.0).abs() < f64::EPSILON);
    }
}

#[test]
fn variables_stand_in_for_what_the_file_leaves_out() {
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://everything:4318"),
        (
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "http://traces:4318/in/traces",
        ),
        ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=hunter2%20x"),
        (
            "OTEL_RESOURCE_ATTRIBUTES",
            "deployment.environment.name=test,service.name=shop",
        ),
        ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
    ];
    let traces = read_with("", &variables).unwrap().unwrap();
    assert_eq!(traces.endpoint, "http://traces:4318/in/traces");
    assert_eq!(traces.headers[0].1.expose(), "hunter2 x");
    assert_eq!(traces.service_name, "shop");
    assert_eq!(
        traces.resource,
        [("deployment.environment.name".to_owned(), "test".to_owned())]
    );
    assert!((traces.sample - 0.25).abs() < f64::EPSILON);
    let file = "[traces]\nendpoint = \"http://file:4318\"\nsample = 1\nservice_name = \"file\"\n\
                headers = { api-key = \"env:OTEL_SERVICE_NAME\" }";
    let named = [&variables[..], &[("OTEL_SERVICE_NAME", "variable")]].concat();
    let traces = read_with(file, &named).unwrap().unwrap();
    assert_eq!(traces.endpoint, "http://file:4318/v1/traces");
    assert_eq!(
        (traces.service_name.as_str(), traces.headers[0].1.expose()),
        ("file", "variable")
    );
    assert!((traces.sample - 1.0).abs() < f64::EPSILON);
    let off = [&named[..], &[("OTEL_SDK_DISABLED", "True")]].concat();
    assert_eq!(read_with(file, &off).unwrap(), None);
}

#[test]
fn what_cannot_be_used_is_refused_without_its_secrets() {
    for (text, variables, said) in [
        (
            "[traces]\nendpoint = \"collector:4318\"",
            &[][..],
            "traces.endpoint",
        ),
        (
            "[traces]\nendpoint = \"http://c:4318/?key=hunter2\"",
            &[],
            "`headers`",
        ),
        ("[traces]\nsample = 1.5", &[], "0 to 1"),
        ("[traces]\nsample = \"all\"", &[], "0 to 1"),
        (
            "[traces]\nheaders = { \"a b\" = \"hunter2\" }",
            &[],
            "not a valid HTTP header",
        ),
        ("[traces]\nheaders = { a = 1 }", &[], "traces.headers.a"),
        ("[traces]\ntimeout = \"2h\"", &[], "traces.timeout"),
        (
            "",
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "grpc://c")],
            "OTEL_EXPORTER_OTLP_ENDPOINT",
        ),
        (
            "",
            &[("OTEL_TRACES_SAMPLER_ARG", "two")],
            "OTEL_TRACES_SAMPLER_ARG",
        ),
    ] {
        let error = read_with(text, variables).unwrap_err();
        assert!(
            error.contains(said) && !error.contains("hunter2"),
            "{text}: {error}"
        );
    }
}

#[test]
fn a_header_is_never_shown() {
    let text = "[traces]\nendpoint = \"http://c:4318\"\nheaders = { api-key = \"hunter2\" }";
    let config = parsed(text);
    let shown = [
        config.to_toml(),
        config.to_json().to_string(),
        format!("{config:?}"),
    ];
    for shown in shown {
        assert!(shown.contains("api-key") && !shown.contains("hunter2"), "{shown}");
    }
}
