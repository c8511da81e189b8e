//! The streams of a child: what it writes is kept, what it is to read is given to it, and neither makes
//! anybody wait.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Child;

use rustix::buffer::spare_capacity;
use rustix::io::ioctl_fionbio;

use crate::frames::{Frame, Frames};
use crate::run_dir::RunDir;
use crate::spec::Spec;
use crate::spool::Spool;

const PIECE: usize = 64 << 10;

/// Both outputs of the child, and its input.
pub(crate) struct Streams {
    out: (Option<OwnedFd>, Spool),
    err: (Option<OwnedFd>, Spool),
    input: Option<Input>,
    /// Frames up to this one are with the child.
    acked: u64,
    buffer: Vec<u8>,
}

struct Input {
    run: RunDir,
    pipe: OwnedFd,
    frames: Frames,
    /// The frame that is being written, and how much of it is.
    pending: Option<(Frame, usize)>,
}

impl Streams {
    pub(crate) fn of(run: &RunDir, spec: &Spec, child: &mut Child) -> Self {
        let out = child.stdout.take().map(OwnedFd::from);
        let err = child.stderr.take().map(OwnedFd::from);
        let input = child.stdin.take().map(OwnedFd::from);
        for fd in [&out, &err, &input].into_iter().flatten() {
            // A pipe that is just made can always be told so.
            let _ = ioctl_fionbio(fd, true);
        }
        let input = input.map(|pipe| Input {
            run: run.clone(),
            pipe,
            frames: Frames::default(),
            pending: None,
        });
        let mut streams = Self {
            out: (out, Spool::new(run, "out", spec.spool)),
            err: (err, Spool::new(run, "err", spec.spool)),
            input,
            acked: 0,
            buffer: Vec::with_capacity(PIECE),
        };
        streams.feed();
        streams
    }

    /// Outputs that are not over.
    pub(crate) fn open(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [&self.out.0, &self.err.0].into_iter().flatten().map(AsFd::as_fd)
    }

    /// The child's input, while a frame waits for room in it.
    pub(crate) fn waits_for_room(&self) -> Option<BorrowedFd<'_>> {
        let input = self.input.as_ref()?;
        input.pending.is_some().then(|| input.pipe.as_fd())
    }

    pub(crate) fn spools(&self) -> (&Spool, &Spool) {
        (&self.out.1, &self.err.1)
    }

    pub(crate) fn acked(&self) -> u64 {
        self.acked
    }

    pub(crate) fn total(&self) -> u64 {
        self.out.1.total() + self.err.1.total()
    }

    /// Takes what the pipes hold, one piece of each; all of it when `whole`.
    pub(crate) fn keep(&mut self, whole: bool) {
        for (pipe, spool) in [&mut self.out, &mut self.err] {
            while let Some(fd) = pipe {
                self.buffer.clear();
                match rustix::io::read(&*fd, spare_capacity(&mut self.buffer)) {
                    Ok(0) => *pipe = None,
                    Ok(_) => spool.write(&self.buffer),
                    Err(rustix::io::Errno::INTR) => continue,
                    Err(rustix::io::Errno::AGAIN) => break,
                    Err(_) => *pipe = None,
                }
                if !whole {
                    break;
                }
            }
        }
    }

    /// Takes room on the disk for a small result.
    pub(crate) fn take_room(&mut self) {
        self.out.1.take_room();
        self.err.1.take_room();
    }

    /// Nothing more comes.
    pub(crate) fn over(&mut self) {
        self.out.1.give_room_back();
        self.err.1.give_room_back();
    }

    /// Gives the child as much of its input as it takes now; tells whether a frame was taken whole.
    pub(crate) fn feed(&mut self) -> bool {
        let mut acked = false;
        while let Some(input) = &mut self.input {
            match input.step() {
                Ok(Fed::Waits) => break,
                Ok(Fed::Frame { n, last }) => {
                    acked = true;
                    self.acked = n;
                    if last {
                        self.input = None;
                    }
                }
                // It reads no more, or its input cannot be read: nothing more comes.
                Err(_) => self.input = None,
            }
        }
        acked
    }
}

enum Fed {
    Waits,
    /// This one is with the child.
    Frame {
        n: u64,
        last: bool,
    },
}

impl Input {
    fn step(&mut self) -> io::Result<Fed> {
        if self.pending.is_none() {
            self.pending = self.frames.next(&self.run)?.map(|frame| (frame, 0));
        }
        let Some((frame, done)) = &mut self.pending else {
            return Ok(Fed::Waits);
        };
        while *done < frame.bytes.len() {
            match rustix::io::write(&self.pipe, &frame.bytes[*done..]) {
                Ok(count) => *done += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return Ok(Fed::Waits),
                Err(why) => return Err(why.into()),
            }
        }
        let (n, last) = (frame.n, frame.last);
        self.pending = None;
        Ok(Fed::Frame { n, last })
    }
}
