"""What schemathesis must know to generate valid values: strings in the query language.

It reads everything else from the document.
"""

import schemathesis
from hypothesis import strategies as st

WORDS = st.text("abcxyz019_-./é", min_size=1, max_size=12)
TERMS = {
    "source": WORDS,
    "type": st.one_of(WORDS, st.just("invoice.*")),
    "status": st.sampled_from(["pending", "failed", "dead", "completed", "ignored", "quarantined"]),
    "id": st.one_of(WORDS, st.just("evt_1"), st.just('"a b:c"')),
    "to": WORDS,
    "error": st.sampled_from(["connect", "timeout", "status", "refused", "lost"]),
    "duplicates": st.sampled_from(["0", ">0", ">=1", "<5", "<=2"]),
    "has": st.just("conflict"),
    "body": st.builds("{}={}".format, st.sampled_from(["/id", "/data/object/id", "/items/0", "/a~1b"]), WORDS),
    "since": st.sampled_from(["1h", "7d", "2020-01-31T12:00:00Z"]),
    "until": st.sampled_from(["1s", "2099-01-01T00:00:00Z"]),
}
# A live tail knows only some of these terms; it never ends, and is left out of the run.
QUERIES = st.sets(st.sampled_from(sorted(TERMS)), min_size=1, max_size=4).flatmap(
    lambda keys: st.tuples(*(TERMS[key].map(lambda value, key=key: f"{key}:{value}") for key in sorted(keys)))
).map(" ".join)

schemathesis.openapi.format("hapax-query", QUERIES)


@schemathesis.hook
def filter_case(context, case):
    """Leaves out cases that the document cannot exclude: a repeated key, and an empty query."""
    if not case.meta or case.meta.generation.mode.is_negative:
        return True
    query = case.query or {}
    keys = {term.split(":")[0] for term in str(query.get("q", "")).split()}
    if keys & {"event_id" if key == "id" else key for key in query} or ("id" in keys and "event_id" in query):
        return False
    fields = case.body.get("query") if isinstance(case.body, dict) else None
    return not isinstance(fields, dict) or any(value not in (None, []) for value in fields.values())
