//! The library on one screen: three tasks go out in one batch, their parent goes on with its own work, and
//! one debrief brings all three home.
//!
//! ```sh
//! cargo run -p homing-runtime --example embed
//! ```

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use homing_hosts::system::{SystemClock, SystemIds};
use homing_runtime::{Launch, Notify, ParentRef, Receipt, Runtime};
use homing_store::SqliteStore;
use homing_testkit::scripted::ScriptedHost;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // A ledger that outlives the process, and a host: here one that obeys its prompts.
    let home = tempfile::tempdir()?;
    let store = SqliteStore::open(home.path().join("ledger.db"))?;
    let clock = Arc::new(SystemClock::new()?);
    let ids = Arc::new(SystemIds::new()?);
    let homing = Runtime::new(Box::new(store), clock, ids)
        .host(Arc::new(ScriptedHost::new("scripted")))
        .start()?;

    // Whoever delegates. An inbox is taken from; other parents are woken.
    let me: ParentRef = "inbox:tour-guide".parse()?;
    let tasks = [
        ("weather", "@say Rain until noon, then sun.\n@end"),
        ("trains", "@tool timetable\n@tool-end\n@say The 9:40 runs.\n@end"),
        ("museum", "@fail auth the key for the museum's site has expired"),
    ];
    let launches = tasks.map(|(name, prompt)| {
        Launch::prompt("scripted", prompt)
            .named(name)
            .parent(me.clone())
            .batch("a day out")
            .notify(Notify::Debrief)
    });
    // Once there is an id, the task is durable: it is run and handed back, whatever crashes.
    for id in homing.launch_all(launches).await {
        println!("sent out {}", id?);
    }

    println!("going on with my own work …\n");

    // One debrief, when the last of the batch has ended. It is mine once I acknowledge it.
    let debrief = homing.next("me", &me, Duration::from_secs(10)).await?;
    let debrief = debrief.ok_or("nothing came home in ten seconds")?;
    println!("{debrief}");
    homing.ack(Receipt::Debrief(debrief.key)).await?;

    homing.stop().await;
    Ok(())
}
