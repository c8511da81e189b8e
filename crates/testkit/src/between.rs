//! Stands between a program and a server on loopback: passes requests and replies on, counts them, and loses or holds
//! replies when it is told to. For tests only.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passing {
    /// It is passed on, and its reply, too.
    Both,
    /// It is passed on, and its reply lost.
    LoseReply,
    /// It is passed on; its reply is kept until the caller goes away.
    HoldReply,
    /// It is not passed on, and answered with this, as it is written.
    Instead(String),
}

/// One request that was passed on, or answered.
#[derive(Debug, Clone)]
pub struct Passed {
    /// `PUT /path`.
    pub what: String,
    /// When it came.
    pub came: Instant,
    /// When it was answered by the server.
    pub answered: Instant,
    pub status: u16,
    /// Seconds, if the server said so.
    pub retry_after: Option<u64>,
}

#[derive(Debug, Default)]
struct Inner {
    next: VecDeque<Passing>,
    passed: Vec<Passed>,
}

/// See the module. Listens until the process ends.
#[derive(Debug, Clone)]
pub struct Between {
    inner: Arc<(Mutex<Inner>, Condvar)>,
    port: u16,
    to: u16,
}

impl Between {
    /// Before the server at this port.
    pub fn start(to: u16) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let this = Self { inner: Arc::default(), port: listener.local_addr()?.port(), to };
        let serving = this.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let one = serving.clone();
                // How one ends is not the next one's affair.
                std::thread::spawn(move || drop(one.pass(near)));
            }
        });
        Ok(this)
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// So the next requests; those after them in both directions.
    pub fn next(&self, passing: impl IntoIterator<Item = Passing>) {
        self.lock().next.extend(passing);
    }

    /// In the order in which the server answered.
    pub fn passed(&self) -> Vec<Passed> {
        self.lock().passed.clone()
    }

    /// Waits until the server has answered so many; tells whether it did.
    pub fn wait_passed(&self, count: usize, at_most: Duration) -> bool {
        let few = |inner: &mut Inner| inner.passed.len() < count;
        let waited = self.inner.1.wait_timeout_while(self.lock(), at_most, few);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One request a connection.
    fn pass(&self, near: TcpStream) -> io::Result<()> {
        let mut near = BufReader::new(near);
        let (what, request) = read(&mut near)?;
        let (came, passing) = (Instant::now(), self.lock().next.pop_front());
        let passing = passing.unwrap_or(Passing::Both);
        let answer = match &passing {
            Passing::Instead(answer) => answer.clone().into_bytes(),
            Passing::Both | Passing::LoseReply | Passing::HoldReply => {
                let mut far = TcpStream::connect(("127.0.0.1", self.to))?;
                far.write_all(&request)?;
                let mut answer = Vec::new();
                far.read_to_end(&mut answer)?;
                answer
            }
        };
        self.note(what, came, &answer);
        match passing {
            Passing::Both | Passing::Instead(_) => near.get_mut().write_all(&answer),
            Passing::LoseReply => Ok(()),
            Passing::HoldReply => near.read(&mut [0]).map(drop),
        }
    }

    fn note(&self, what: String, came: Instant, answer: &[u8]) {
        let text = String::from_utf8_lossy(answer);
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
        let after = |line: &str| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("retry-after").then(|| value.trim().parse().ok())?
        };
        let head = text.split("\r\n\r\n").next().unwrap_or_default();
        let retry_after = head.lines().find_map(after);
        let (status, answered) = (status.unwrap_or(0), Instant::now());
        self.lock().passed.push(Passed { what, came, answered, status, retry_after });
        self.inner.1.notify_all();
    }
}

/// A whole request, made one whose answer ends with its connection.
fn read(stream: &mut impl BufRead) -> io::Result<(String, Vec<u8>)> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let what = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let mut head = format!("{what} HTTP/1.0\r\n");
    let mut length = 0;
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        head.push_str(&line);
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok((what, [head.into_bytes(), body].concat()))
}
