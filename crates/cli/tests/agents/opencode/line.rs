//! The line between the daemon and a server that runs already: it can be cut and mended.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// None while it is cut.
type Open = Arc<Mutex<Option<Vec<TcpStream>>>>;

/// See the module. Listens until the process ends.
pub struct Line {
    pub port: u16,
    open: Open,
}

impl Line {
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let open = Open::new(Mutex::new(Some(Vec::new())));
        let all = Arc::clone(&open);
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let mut open = all.lock().unwrap();
                if let Some(open) = open.as_mut()
                    && let Ok(far) = TcpStream::connect(("127.0.0.1", server))
                {
                    open.extend([near.try_clone().unwrap(), far.try_clone().unwrap()]);
                    for (from, to) in [(near.try_clone(), far.try_clone()), (Ok(far), Ok(near))] {
                        let (mut from, mut to): (TcpStream, TcpStream) =
                            (from.unwrap(), to.unwrap());
                        std::thread::spawn(move || {
                            drop(io::copy(&mut from, &mut to));
                            drop(to.shutdown(Shutdown::Both));
                        });
                    }
                }
            }
        });
        Self { port, open }
    }

    pub fn cut(&self) {
        for stream in self.open.lock().unwrap().take().into_iter().flatten() {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    pub fn mend(&self) {
        *self.open.lock().unwrap() = Some(Vec::new());
    }
}
