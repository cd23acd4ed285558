//! Serves the commits of a repository like Flux' source-controller: an archive of each by HTTP.

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crate::support::cluster::run;

/// Archives in a folder, and the server of that folder, until this is dropped.
pub(super) struct Archives {
    folder: tempfile::TempDir,
    address: SocketAddr,
    commits: usize,
    has_ended: Arc<AtomicBool>,
    server: Option<JoinHandle<()>>,
}

/// One commit.
pub(super) struct Commit {
    pub(super) revision: String,
    pub(super) digest: String,
    pub(super) url: String,
}

impl Archives {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let has_ended = Arc::new(AtomicBool::new(false));
        let server = {
            let (folder, has_ended) = (folder.path().to_owned(), Arc::clone(&has_ended));
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    if has_ended.load(Ordering::Relaxed) {
                        return;
                    }
                    // The other side tries again.
                    let _failed = answer(stream, &folder);
                }
            })
        };
        Self { folder, address, commits: 0, has_ended, server: Some(server) }
    }

    /// A commit in which the repository has these objects, a file for each.
    pub(super) fn commit(&mut self, objects: &[Value]) -> Commit {
        self.commits += 1;
        let files = self.folder.path().join(format!("files-{}", self.commits));
        fs::create_dir(&files).unwrap();
        for (number, object) in objects.iter().enumerate() {
            fs::write(files.join(format!("{number}.yaml")), object.to_string()).unwrap();
        }
        let name = format!("{}.tar.gz", self.commits);
        let archive: PathBuf = self.folder.path().join(&name);
        let archive = archive.to_str().unwrap();
        run("tar", &["-czf", archive, "-C", files.to_str().unwrap(), "."]);
        let digest = run("sha256sum", &[archive]);
        Commit {
            revision: format!("main@sha1:{:040x}", self.commits),
            digest: format!("sha256:{}", digest.split(' ').next().unwrap()),
            url: format!("http://{}/{name}", self.address),
        }
    }
}

/// Sends the file that is requested.
fn answer(mut stream: TcpStream, folder: &Path) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().unwrap_or(Ok(String::new()))?;
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let name = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
    match fs::read(folder.join(name)) {
        Ok(file) => {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", file.len())?;
            stream.write_all(&file)
        }
        Err(_) => write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
    }
}

impl Drop for Archives {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::Relaxed);
        // It waits for a connection.
        let _connected = TcpStream::connect(self.address);
        if let Some(server) = self.server.take() {
            let _ended = server.join();
        }
    }
}
