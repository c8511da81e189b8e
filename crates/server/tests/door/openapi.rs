//! The document of what is served: whole, of this door, and true where a generated client would rely on it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::scene::{Open, Scene, next, problem, soon};
use crate::tcp::{bearer, listen};

async fn document(open: &Open) -> Value {
    serde_json::from_slice(&soon(open.client.get("/openapi.json")).await.unwrap()).unwrap()
}

/// Every operation: its method, path and description.
fn operations(document: &Value) -> Vec<(&str, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    paths
        .iter()
        .flat_map(|(path, item)| {
            let item = item.as_object().unwrap();
            item.iter().map(move |(method, told)| (method.as_str(), path.as_str(), told))
        })
        .collect()
}

/// Every reference in it, wherever it stands.
fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|each| references(each, found));
        }
        Value::Array(all) => all.iter().for_each(|each| references(each, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn the_document_tells_what_it_is_and_every_reference_in_it_leads_somewhere() {
    let scene = Scene::new();
    let open = scene.open();
    let document = document(&open).await;
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."), "{document}");
    assert_eq!(
        (&document["info"]["title"], &document["info"]["version"]),
        (&"homing".into(), &"1.2.3".into())
    );
    assert!(document["info"]["description"].as_str().unwrap().contains("/mcp"));
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    assert!(found.len() > 20, "{found:?}");
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
    open.close().await;
}

#[tokio::test]
async fn every_operation_has_a_short_name_a_group_an_answer_and_refusals_with_their_codes() {
    let scene = Scene::new();
    let open = scene.open();
    let document = document(&open).await;
    let mut names = BTreeSet::new();
    for (method, path, told) in operations(&document) {
        let name = told["operationId"].as_str().unwrap();
        assert!(names.insert(name.to_owned()), "{name} twice");
        assert!(name.len() < 20 && !told["summary"].as_str().unwrap().is_empty(), "{name}");
        let group = &told["tags"][0];
        assert!(document["tags"].as_array().unwrap().iter().any(|tag| tag["name"] == *group));
        for named in path.split('{').skip(1).map(|rest| rest.split('}').next().unwrap()) {
            let parameters = told["parameters"].as_array().unwrap();
            assert!(parameters.iter().any(|each| each["name"] == named && each["in"] == "path"));
        }
        assert_eq!(method == "post", told["requestBody"].is_object(), "{name}");
        let answers = told["responses"].as_object().unwrap();
        let (good, bad): (Vec<_>, Vec<_>) =
            answers.iter().partition(|(status, _)| status.starts_with('2'));
        assert!(!good.is_empty() && bad.len() >= 2, "{name}: {answers:?}");
        for (status, refused) in bad {
            let narrow = &refused["content"]["application/problem+json"]["schema"]["allOf"][1];
            let codes = narrow["properties"]["code"]["enum"].as_array().unwrap();
            assert!(codes.iter().all(|code| code.as_str().unwrap().starts_with("E_")));
            let told = &narrow["properties"]["status"]["enum"][0];
            assert_eq!(told.to_string(), *status, "{name}");
        }
        let open = ["healthz", "readyz"].contains(&name);
        assert_eq!(open, told["security"].is_array() && !answers.contains_key("401"), "{name}");
    }
    assert!(names.len() >= 25, "{names:?}");
    open.close().await;
}

#[tokio::test]
async fn every_body_refuses_what_is_not_named_in_it() {
    let scene = Scene::new();
    let open = scene.open();
    let document = document(&open).await;
    for name in ["Launch", "Budget", "Limits", "Cancel", "Resume", "Send", "Stop", "Nothing"] {
        let schema = &document["components"]["schemas"][name];
        assert_eq!(schema["additionalProperties"], false, "{name}: {schema}");
    }
    open.close().await;
}

#[tokio::test]
async fn the_document_needs_the_token_over_tcp_and_is_the_same_as_on_the_socket() {
    let scene = Scene::new();
    let open = scene.open();
    let tcp = listen(&scene, &open).await;
    let document = document(&open).await;
    let refused = tcp.get("/openapi.json", &["Host: localhost"]).await;
    assert!(refused.starts_with("HTTP/1.1 401 "), "{refused}");
    let answer = tcp.get("/openapi.json", &["Host: localhost", &bearer()]).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("content-type: application/json"), "{head}");
    assert_eq!(serde_json::from_str::<Value>(body).unwrap(), document);
    let odd = problem(soon(open.client.get("/openapi.json?pretty=1")).await);
    assert_eq!(odd.code, "E_INVALID");
    tcp.close(open).await;
}

/// What a generated client would be told of a stream holds for what comes.
#[tokio::test]
async fn a_stream_has_the_form_and_the_lines_that_the_document_says() {
    let scene = Scene::new();
    let open = scene.open();
    let document = document(&open).await;
    let tcp = listen(&scene, &open).await;
    let id = open.launch("@say out\n@end").await;
    open.end(id).await;
    for path in ["/v1/events", "/v1/telemetry", "/v1/deliveries", "/v1/tasks/{task}/events"] {
        let forms = &document["paths"][path]["get"]["responses"]["200"]["content"];
        assert!(forms["text/event-stream"].is_object(), "{path}: {forms}");
        let asked = match path {
            "/v1/deliveries" => "/v1/deliveries?consumer=cli".to_owned(),
            other => other.replace("{task}", &id.to_string()),
        };
        let head =
            tcp.head_of(&asked, &["Host: localhost", &bearer(), "Accept: text/event-stream"]).await;
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        assert!(head.contains("content-type: text/event-stream"), "{head}");
    }
    let line = &document["components"]["schemas"]["JournalLine"];
    let known: BTreeSet<&str> =
        line["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    let mut events = soon(open.client.events(None)).await.unwrap();
    let data: Value = serde_json::from_str(&next(&mut events).await.data).unwrap();
    let came: BTreeSet<&str> = data.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(came, known);
    drop(events);
    tcp.close(open).await;
}
