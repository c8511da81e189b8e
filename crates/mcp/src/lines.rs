//! Messages on two streams, one JSON a line. A line that is no message is answered with what is wrong with it, and the
//! next one is read: a client that errs once is not left without an answer, and costs a bounded amount of memory.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, mpsc};

/// A line is read up to here. Far more than the door takes.
const LINE_MAX: usize = 16 << 20;
/// Messages that were read and not taken yet.
const AHEAD: usize = 16;

type Heard = RxJsonRpcMessage<RoleServer>;

/// One end of the streams.
pub(crate) struct Lines<W> {
    heard: mpsc::Receiver<Heard>,
    write: Arc<Mutex<W>>,
}

impl<W: AsyncWrite + Send + Unpin + 'static> Lines<W> {
    pub(crate) fn new(read: impl AsyncRead + Send + Unpin + 'static, write: W) -> Self {
        let (tell, heard) = mpsc::channel(AHEAD);
        let write = Arc::new(Mutex::new(write));
        // Ends with the stream, or with whoever listens.
        tokio::spawn(hear(BufReader::new(read), tell, Arc::clone(&write)));
        Self { heard, write }
    }
}

impl<W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for Lines<W> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let write = Arc::clone(&self.write);
        async move { put(&write, &message).await }
    }

    async fn receive(&mut self) -> Option<Heard> {
        self.heard.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.heard.close();
        Ok(())
    }
}

async fn hear<R, W>(mut read: R, tell: mpsc::Sender<Heard>, write: Arc<Mutex<W>>)
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut line = Vec::new();
    while let Ok(Some(fits)) = next(&mut read, &mut line).await {
        let heard = match fits {
            true => message(&line),
            false => Err(refusal(Value::Null, -32600, "a line of more than 16 MiB is not read")),
        };
        let gone = match heard {
            Ok(Some(message)) => tell.send(message).await.is_err(),
            Ok(None) => false,
            Err(wrong) => put(&write, &wrong).await.is_err(),
        };
        if gone {
            return;
        }
    }
}

/// Reads one line; tells whether it fits. One that does not is passed over to its end. None when there is no more.
async fn next<R: AsyncBufRead + Unpin>(
    read: &mut R,
    line: &mut Vec<u8>,
) -> io::Result<Option<bool>> {
    line.clear();
    let (mut fits, mut any) = (true, false);
    loop {
        let here = read.fill_buf().await?;
        if here.is_empty() {
            return Ok(any.then_some(fits));
        }
        any = true;
        let end = here.iter().position(|byte| *byte == b'\n');
        let take = end.unwrap_or(here.len());
        fits = fits && line.len() + take <= LINE_MAX;
        match fits {
            true => line.extend_from_slice(&here[..take]),
            false => *line = Vec::new(),
        }
        read.consume(take + usize::from(end.is_some()));
        if end.is_some() {
            return Ok(Some(fits));
        }
    }
}

/// What a line says, or what is to be said to it. None: nobody waits for an answer.
fn message(line: &[u8]) -> Result<Option<Heard>, Value> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(why) => {
            return Err(refusal(Value::Null, -32700, &format!("it is not JSON: {why}")));
        }
    };
    if let Ok(message) = serde_json::from_slice(line) {
        return Ok(Some(message));
    }
    let id = value.get("id").filter(|id| id.is_string() || id.is_number());
    match (id, value.get("method")) {
        (None, Some(Value::String(_))) if value.get("id").is_none() => Ok(None),
        (id, _) => {
            let id = id.cloned().unwrap_or_default();
            Err(refusal(
                id,
                -32600,
                "it is not a message of the protocol: a request has jsonrpc, id, method",
            ))
        }
    }
}

fn refusal(id: Value, code: i32, why: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}})
}

async fn put<W: AsyncWrite + Unpin>(
    write: &Mutex<W>,
    message: &(impl Serialize + Sync),
) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut write = write.lock().await;
    write.write_all(&line).await?;
    write.flush().await
}
