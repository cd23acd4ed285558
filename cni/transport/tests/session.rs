//! The parts of a session on tokio.

use std::time::Duration;
use tokio::time::Instant;
use usnet_transport::asynchronous::{Backoff, Caller, Request, Task};

const SHORTEST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_millis(80);

// On a clock that moves only while all tasks wait, so that a busy machine changes nothing.
#[tokio::test(start_paused = true)]
async fn pauses_double_up_to_the_longest_and_requests_fail_meanwhile() {
    let (caller, mut requests, _state) = Caller::<u8, &str, ()>::new(());
    let mut backoff = Backoff::new(SHORTEST, LONGEST);
    for at_least in [SHORTEST, SHORTEST * 2, LONGEST, LONGEST] {
        let started = Instant::now();
        let (next, answer) = tokio::join!(backoff.wait(&mut requests, || "not sent"), caller.call(7));
        assert_eq!((next, answer), (true, Some("not sent")));
        assert_eq!(started.elapsed(), at_least);
    }
    tokio::time::sleep(LONGEST * 2).await;
    let started = Instant::now();
    backoff.wait(&mut requests, || "not sent").await;
    assert_eq!(started.elapsed(), SHORTEST, "a connection that lasted resets the pause");
    drop(caller);
    assert!(!backoff.wait(&mut requests, || "not sent").await, "no caller is left");
}

#[tokio::test]
async fn task_answers_its_callers_and_ends_with_its_session() {
    let (caller, mut requests, state) = Caller::<u8, u8, Option<u8>>::new(None);
    let task = Task::start(async move {
        state.send_replace(Some(3));
        while let Some(Request { content, answer }) = requests.recv().await {
            let _receiver_gone = answer.send(content + 1);
        }
    });
    assert_eq!(caller.wait_for(|state| *state).await, Some(3));
    assert_eq!(caller.clone().call(7).await, Some(8));
    drop(task);
    assert_eq!(caller.call(7).await, None);
    let never = tokio::time::timeout(Duration::from_secs(20), caller.wait_for(|state| state.filter(|seen| *seen == 4)));
    assert_eq!(never.await.expect("it does not wait for a task that has ended"), None);
}
