//! A home on a disk of its own, in a mount namespace: it can be filled, and made read-only, without harm to
//! anybody. A machine that lets nobody mount fails these tests, and says so.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::ops::Deref;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::scene::Scene;

/// Bigger than what a home takes to begin with, and quickly filled.
const BYTES: u64 = 64 << 20;

pub struct Mounted {
    // Ended first: its verbs need the keeper.
    scene: Scene,
    keeper: Keeper,
}

/// Keeps the namespace until its end.
struct Keeper {
    child: Child,
    enter: Vec<OsString>,
}

impl Deref for Mounted {
    type Target = Scene;

    fn deref(&self) -> &Scene {
        &self.scene
    }
}

impl Mounted {
    pub fn new() -> Self {
        let mut scene = Scene::new();
        std::fs::create_dir(&scene.home).unwrap();
        let keeper = Keeper::of(&scene);
        scene.by.clone_from(&keeper.enter);
        Self { scene, keeper }
    }

    /// A file of the home, as it is seen inside.
    pub fn file(&self, name: &str) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.keeper.child.id()));
        root.join(self.home.strip_prefix("/").unwrap()).join(name)
    }

    /// Takes all the room that is left; it is back when this falls.
    pub fn fill(&self) -> Filled {
        let path = self.file("filler");
        let mut file = File::create(&path).unwrap();
        let mut written = 0;
        // The last bytes go one page at a time.
        for size in [1 << 20, 4 << 10, 1] {
            let piece = vec![b'x'; size];
            while file.write_all(&piece).is_ok() {
                written += size as u64;
                assert!(written <= BYTES, "it takes more than it has");
            }
        }
        Filled(path)
    }

    /// Read-only from now on, for whatever is opened anew.
    pub fn make_read_only(&self) {
        let home = self.home.to_str().unwrap();
        self.root(&["mount", "--bind", home, home]);
        self.root(&["mount", "-o", "remount,bind,ro", home]);
        assert!(File::create(self.file("probe")).is_err(), "it can be written to");
    }

    pub fn make_writable(&self) {
        self.root(&["umount", self.home.to_str().unwrap()]);
    }

    fn root(&self, words: &[&str]) {
        let (first, rest) = self.keeper.enter.split_first().unwrap();
        assert!(
            Command::new(first).args(rest).args(words).status().unwrap().success(),
            "{words:?}"
        );
    }
}

impl Keeper {
    fn of(scene: &Scene) -> Self {
        // As anybody; else as root alone may.
        for (unshare, nsenter) in
            [("-rm", &["-U", "-m", "--preserve-credentials"][..]), ("-m", &["-m"][..])]
        {
            let script = format!(
                "mount -t tmpfs -o size={BYTES},mode=700 tmpfs \"$0\" && echo ready && exec cat"
            );
            let mut command = Command::new("unshare");
            command
                .args([unshare, "--propagation", "private", "sh", "-c", &script])
                .arg(&scene.home);
            let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
            let mut child = child.unwrap_or_else(|why| panic!("unshare: {why}"));
            let mut line = String::new();
            BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
            let pid = child.id().to_string();
            let enter = ["nsenter", "-t", &pid].into_iter().chain(nsenter.iter().copied());
            let enter = enter.chain(["--"]).map(OsString::from).collect();
            let keeper = Self { enter, child };
            if line == "ready\n" {
                return keeper;
            }
        }
        panic!(
            "this machine lets nobody mount: neither `unshare -rm` nor `unshare -m` works, so a full disk cannot be shown"
        );
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub struct Filled(PathBuf);

impl Drop for Filled {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}
