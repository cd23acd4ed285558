use super::*;
use usnet_common::testing::api_server::{Answer, ApiServer};
use usnet_crds::{CompiledNetwork, CompiledNetworkSpec};

fn object(name: &str, version: u64) -> String {
    format!(
        r#"{{"apiVersion": "usnet.dev/v1alpha1", "kind": "CompiledNetwork", "metadata": {{"name": "{name}", "resourceVersion": "{version}"}}, "spec": {{}}}}"#
    )
}

fn list(version: u64, next_page: &str, objects: &[String]) -> Answer {
    let items = objects.join(",");
    let metadata = format!(r#"{{"resourceVersion": "{version}", "continue": "{next_page}"}}"#);
    Answer::ok(format!(
        r#"{{"apiVersion": "usnet.dev/v1alpha1", "kind": "CompiledNetworkList", "metadata": {metadata}, "items": [{items}]}}"#
    ))
}

fn watch(events: &[(&str, String)]) -> Answer {
    Answer::ok(
        events.iter().map(|(kind, object)| format!("{{\"type\": \"{kind}\", \"object\": {object}}}\n")).collect(),
    )
}

fn failure(code: u16, message: &str, cause: &str) -> String {
    format!(
        r#"{{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": {code}, "reason": "Timeout", "message": "{message}", "details": {{"causes": [{{"reason": "{cause}", "message": "{message}"}}]}}}}"#
    )
}

fn list_watch(server: &ApiServer) -> ListWatch<CompiledNetwork> {
    ListWatch::new(server.client(), None)
}

/// A short text for an event.
fn short(event: &Result<Event<CompiledNetwork>, Error>) -> String {
    match event {
        Ok(Event::Page { objects, is_first, complete }) => {
            let names: Vec<_> = objects.iter().map(Object::name).collect();
            format!("page {} first={is_first} complete={complete:?}", names.join(","))
        }
        Ok(Event::Applied(object)) => format!("applied {}", object.name()),
        Ok(Event::Deleted(object)) => format!("deleted {}", object.name()),
        Ok(Event::Opened) => "opened".to_owned(),
        Err(Error::List(_)) => "cannot list".to_owned(),
        Err(Error::Watch(_)) => "cannot watch".to_owned(),
        Err(other) => format!("{other:?}"),
    }
}

/// Short texts for the events that these answers lead to, and for the requests.
async fn run(answers: Vec<Answer>, events: usize) -> (Vec<String>, Vec<String>) {
    let server = ApiServer::answering(answers);
    let mut list_watch = list_watch(&server);
    let mut seen = Vec::new();
    for _ in 0..events {
        seen.push(short(&list_watch.next().await));
    }
    let request = |request: String| {
        let (_, query) = request.split_once('?').unwrap();
        let of = |key: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| *name == key).map(|(_, value)| value.to_owned())
        };
        match of("watch") {
            Some(_) => format!("watch {}", of("resourceVersion").unwrap_or_default()),
            None => format!("list {} {}", of("limit").unwrap_or_default(), of("continue").unwrap_or_default()),
        }
    };
    (seen, server.requests().into_iter().map(request).collect())
}

#[tokio::test]
async fn all_pages_are_listed_and_a_watch_continues_where_it_ended() {
    let bookmark =
        r#"{"kind": "CompiledNetwork", "apiVersion": "usnet.dev/v1alpha1", "metadata": {"resourceVersion": "30"}}"#;
    let answers = vec![
        list(10, "more", &[object("a", 3)]),
        list(10, "", &[object("b", 9)]),
        watch(&[("ADDED", object("c", 11)), ("DELETED", object("a", 12)), ("BOOKMARK", bookmark.to_owned())]),
        list(31, "", &[]),
        watch(&[("MODIFIED", object("b", 32))]),
    ];
    let (events, requests) = run(answers, 8).await;
    let expected = [
        "page a first=true complete=None",
        "page b first=false complete=Some(10)",
        "opened",
        "applied c",
        "deleted a",
        "EndedEarly",
        "opened",
        "applied b",
    ];
    assert_eq!(events, expected);
    assert_eq!(requests, ["list 500 ", "list 500 more", "watch 10", "list 1 ", "watch 30"]);
}

#[tokio::test]
async fn after_too_large_resource_version_everything_is_listed_again() {
    let message = "Too large resource version: 2000, current: 1000";
    for (text, cause) in [(message, "ResourceVersionTooLarge"), ("later", "ResourceVersionTooLarge"), (message, "")] {
        let answers = vec![
            list(2000, "", &[object("a", 1500)]),
            Answer::new(504, failure(504, text, cause)),
            list(1000, "", &[object("a", 900)]),
        ];
        let (events, _) = run(answers, 3).await;
        assert_eq!(
            events,
            ["page a first=true complete=Some(2000)", "cannot watch", "page a first=true complete=Some(1000)"]
        );
    }
}

#[tokio::test]
async fn a_version_that_was_compacted_is_listed_again() {
    let expired = failure(410, "too old resource version", "");
    let end = ["cannot watch", "page  first=true complete=Some(20)"];
    let refused = vec![list(10, "", &[]), Answer::new(410, expired.clone()), list(20, "", &[])];
    assert_eq!(run(refused, 3).await.0[1..], end);
    let ended = vec![list(10, "", &[]), watch(&[("ERROR", expired)]), list(20, "", &[])];
    assert_eq!(run(ended, 4).await.0[2..], end);
}

/// Such an API server would keep a watch open and send nothing.
#[tokio::test]
async fn an_api_server_that_went_back_in_time_is_listed_again() {
    let answers =
        vec![list(2000, "", &[]), watch(&[]), list(1000, "next", &[object("a", 1)]), list(1000, "", &[object("a", 1)])];
    let (events, requests) = run(answers, 4).await;
    assert_eq!(events[1..], ["opened", "EndedEarly", "page a first=true complete=Some(1000)"]);
    assert_eq!(requests, ["list 500 ", "watch 2000", "list 1 ", "list 500 "]);
}

/// Its versions have caught up before it was asked: only the objects reveal it.
#[tokio::test]
async fn another_history_that_has_caught_up_is_listed_again() {
    let changed = || watch(&[("MODIFIED", object("a", 12))]);
    let listed = || list(10, "", &[object("a", 3), object("b", 9)]);
    for found in [vec![object("a", 3)], vec![]] {
        let answers = vec![listed(), changed(), list(15, "", &found), list(15, "", &found)];
        let (events, requests) = run(answers, 5).await;
        assert_eq!(events[1..4], ["opened", "applied a", "EndedEarly"]);
        assert!(events[4].contains("first=true complete=Some(15)"), "{events:?}");
        assert_eq!(requests, ["list 500 ", "watch 10", "list 1 ", "list 500 "]);
    }
    let answers = vec![listed(), changed(), list(15, "", &[object("a", 12)]), changed()];
    assert_eq!(run(answers, 5).await.1, ["list 500 ", "watch 10", "list 1 ", "watch 12"]);
}

#[tokio::test]
async fn another_failure_does_not_cost_a_list() {
    let busy = || Answer::new(429, failure(429, "too many requests", ""));
    let answers =
        vec![busy(), list(10, "", &[]), busy(), busy(), list(10, "", &[]), watch(&[("ADDED", object("a", 11))])];
    let (events, requests) = run(answers, 6).await;
    assert_eq!(
        events,
        ["cannot list", "page  first=true complete=Some(10)", "cannot watch", "cannot list", "opened", "applied a"]
    );
    assert_eq!(requests[3..], ["list 1 ", "list 1 ", "watch 10"]);
}

#[tokio::test]
async fn an_unreadable_object_is_an_event_as_any_other() {
    let server = ApiServer::answering(vec![list(10, "", &[object("a", 3)])]);
    let Ok(Event::Page { objects, .. }) = list_watch(&server).next().await else { panic!("no list") };
    let error = objects[0].spec::<CompiledNetworkSpec>().unwrap_err().to_string();
    assert!(error.contains("missing field"), "{error}");
}
