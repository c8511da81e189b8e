//! The place of a home's socket, and making it there: a short name in a directory of its owner's alone.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use homing_core::payload::Digest;
use tokio::net::UnixListener;

use crate::home::Home;

/// What a socket's path holds, its last NUL left out.
const PATH_MAX: usize = 107;

/// In the runtime directory; where there is none, in a directory of this user's own among temporary files.
pub fn place(home: &Home) -> io::Result<PathBuf> {
    let name = format!("{:?}", Digest::of(home.dir().as_os_str().as_encoded_bytes()));
    let name = format!("{}.sock", &name[..16]);
    let uid = rustix::process::geteuid().as_raw();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let runtime = runtime.filter(|dir| dir.is_absolute()).map(|dir| dir.join("homing"));
    let other = PathBuf::from(format!("/tmp/homing-{uid}"));
    let mut why = io::Error::from(io::ErrorKind::NotFound);
    for directory in runtime.into_iter().chain([other]) {
        let path = directory.join(&name);
        if path.as_os_str().len() > PATH_MAX {
            continue;
        }
        match own(&directory, uid) {
            Ok(()) => return Ok(path),
            Err(error) => why = error,
        }
    }
    Err(why)
}

/// Makes the directory, and sees that it is one of this user's, which no other can enter.
fn own(directory: &Path, uid: u32) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(why) if why.kind() != io::ErrorKind::AlreadyExists => return Err(why),
        Ok(()) | Err(_) => {}
    }
    let found = fs::symlink_metadata(directory)?;
    if !found.is_dir() || found.uid() != uid || found.mode() & 0o077 != 0 {
        let why = format!("{} is not a directory of uid {uid} alone", directory.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(())
}

/// Listens there. The name appears when it can be connected to, with its mode as it stays; one that a daemon
/// before left behind is replaced.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    if let Some(directory) = path.parent() {
        own(directory, rustix::process::geteuid().as_raw())?;
    }
    let fresh = path.with_extension("new");
    match fs::remove_file(&fresh) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
        Ok(()) | Err(_) => {}
    }
    let listener = UnixListener::bind(&fresh)?;
    fs::set_permissions(&fresh, Permissions::from_mode(0o600))?;
    fs::rename(&fresh, path)?;
    Ok(listener)
}

/// Which file is at the path, if any.
pub fn file(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}
