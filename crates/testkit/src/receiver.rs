//! A receiver of webhooks, or of a room's messages, on loopback that answers as it is told, and knows a key when it sees it again. For tests only.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How a request is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// With a status, and headers as they are written.
    Say(u16, Vec<String>),
    /// The same, and a body.
    Tell(u16, Vec<String>, String),
    /// It is taken; then the receiver dies before it answers.
    TakeAndDie,
    /// It dies before it has read anything.
    Die,
    /// It is read, and nothing follows until the caller goes away.
    Stall,
}

/// One request, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    pub method: String,
    pub path: String,
    /// Names in small letters.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Heard {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The key by which a receiver knows it again: in a header of its own, or at the end of the path.
    pub fn id(&self) -> &str {
        let last = || self.path.rsplit('/').next();
        self.header("webhook-id").or_else(last).unwrap_or_default()
    }
}

#[derive(Debug, Default)]
struct Inner {
    answers: VecDeque<Answer>,
    usual: Option<Answer>,
    heard: Vec<Heard>,
    taken: Vec<Heard>,
}

/// See the module. Listens until the process ends.
#[derive(Debug, Clone)]
pub struct Receiver {
    inner: Arc<(Mutex<Inner>, Condvar)>,
    port: u16,
}

/// What speaks for a connection: itself, or TLS around it.
pub trait Speaks: Read + Write + Send {}
impl<T: Read + Write + Send> Speaks for T {}

impl Receiver {
    pub fn start() -> io::Result<Self> {
        Self::speaking(|stream| Box::new(stream))
    }

    pub fn speaking(
        speak: impl Fn(TcpStream) -> Box<dyn Speaks> + Send + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let this = Self { inner: Arc::default(), port };
        let serving = this.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (one, stream) = (serving.clone(), speak(stream));
                // How one ends is not the next one's affair.
                std::thread::spawn(move || drop(one.serve(stream)));
            }
        });
        Ok(this)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// `http://127.0.0.1:PORT/hook`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    /// The next requests are answered so; those after them as usual, which is 200 unless it was said otherwise.
    pub fn answer(&self, answers: impl IntoIterator<Item = Answer>) {
        self.lock().answers.extend(answers);
    }

    pub fn usually(&self, answer: Answer) {
        self.lock().usual = Some(answer);
    }

    /// Every request, repeats included.
    pub fn heard(&self) -> Vec<Heard> {
        self.lock().heard.clone()
    }

    /// What was taken, once a key.
    pub fn taken(&self) -> Vec<Heard> {
        self.lock().taken.clone()
    }

    /// Waits until so many requests came in all; tells whether they did.
    pub fn wait_heard(&self, count: usize, at_most: Duration) -> bool {
        self.wait(at_most, |inner| inner.heard.len() >= count)
    }

    /// Waits until so many keys were taken; tells whether they were.
    pub fn wait_taken(&self, count: usize, at_most: Duration) -> bool {
        self.wait(at_most, |inner| inner.taken.len() >= count)
    }

    fn wait(&self, at_most: Duration, enough: impl Fn(&Inner) -> bool) -> bool {
        let waited = self.inner.1.wait_timeout_while(self.lock(), at_most, |inner| !enough(inner));
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Answer {
        let mut inner = self.lock();
        let next = inner.answers.pop_front().or_else(|| inner.usual.clone());
        next.unwrap_or(Answer::Say(200, Vec::new()))
    }

    fn serve(&self, stream: Box<dyn Speaks>) -> io::Result<()> {
        let answer = self.next();
        if answer == Answer::Die {
            return Ok(());
        }
        let mut stream = BufReader::new(stream);
        let heard = read(&mut stream)?;
        let taken = match &answer {
            Answer::Say(status, _) | Answer::Tell(status, ..) => (200..300).contains(status),
            Answer::TakeAndDie => true,
            Answer::Die | Answer::Stall => false,
        };
        self.note(heard, taken);
        match answer {
            Answer::Say(status, headers) => say(stream.get_mut(), status, &headers, ""),
            Answer::Tell(status, headers, body) => say(stream.get_mut(), status, &headers, &body),
            Answer::Stall => stream.read(&mut [0]).map(|_| ()),
            Answer::TakeAndDie | Answer::Die => Ok(()),
        }
    }

    fn note(&self, heard: Heard, taken: bool) {
        let mut inner = self.lock();
        if taken && inner.taken.iter().all(|known| known.id() != heard.id()) {
            inner.taken.push(heard.clone());
        }
        inner.heard.push(heard);
        self.inner.1.notify_all();
    }
}

fn say(to: &mut impl Write, status: u16, headers: &[String], body: &str) -> io::Result<()> {
    let headers: String = headers.iter().map(|each| format!("{each}\r\n")).collect();
    let length = body.len();
    let head = format!("HTTP/1.1 {status} so\r\n{headers}content-length: {length}\r\n\r\n");
    to.write_all(format!("{head}{body}").as_bytes())?;
    to.flush()
}

fn read(stream: &mut impl BufRead) -> io::Result<Heard> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut heard = Heard { method, path, headers, body: Vec::new() };
    let length = heard.header("content-length").and_then(|length| length.parse().ok());
    heard.body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut heard.body)?;
    Ok(heard)
}
