//! The same door on TCP: only with the token, only under this machine's names, and from no web page but those named.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use homing_client::{Client, Error};
use homing_ports::door::Calling;
use homing_server::Guard;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::scene::{LONG, Open, Scene, TOKEN, ask, problem, soon};

/// The door on TCP beside the socket.
pub struct Tcp {
    address: SocketAddr,
    serving: JoinHandle<std::io::Result<()>>,
}

pub async fn listen(scene: &Scene, open: &Open) -> Tcp {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let guard = Guard {
        token: scene.around.clone(),
        hosts: Arc::new(["tasks.example".to_owned()]),
        origins: Arc::new(["https://page.example".to_owned()]),
    };
    let serving = tokio::spawn(homing_server::serve_tcp(listener, guard, open.door.clone()));
    Tcp { address, serving }
}

impl Tcp {
    fn client(&self, token: &str) -> Client {
        Client::over_tcp(self.address.to_string(), token)
    }

    /// Sends a request as it is, and reads all that comes back.
    pub async fn raw(&self, request: impl AsRef<[u8]>) -> String {
        let (address, request) = (self.address, request.as_ref().to_vec());
        let answer = tokio::task::spawn_blocking(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(LONG)).unwrap();
            stream.write_all(&request).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        });
        soon(answer).await.unwrap()
    }

    pub async fn get(&self, path: &str, headers: &[&str]) -> String {
        let headers = headers.join("\r\n");
        self.raw(&format!("GET {path} HTTP/1.1\r\n{headers}\r\nConnection: close\r\n\r\n")).await
    }

    /// The head alone of an answer that may not end.
    pub async fn head_of(&self, path: &str, headers: &[&str]) -> String {
        let (address, headers) = (self.address, headers.join("\r\n"));
        let request = format!("GET {path} HTTP/1.1\r\n{headers}\r\n\r\n");
        let head = tokio::task::spawn_blocking(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(LONG)).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let lines = std::io::BufRead::lines(std::io::BufReader::new(stream));
            let head = lines.map(Result::unwrap).take_while(|line| !line.is_empty());
            head.collect::<Vec<_>>().join("\r\n")
        });
        soon(head).await.unwrap()
    }

    pub async fn close(self, open: Open) {
        open.close().await;
        soon(self.serving).await.unwrap().unwrap();
    }
}

pub fn bearer() -> String {
    format!("Authorization: Bearer {TOKEN}")
}

const HOST: &str = "Host: 127.0.0.1";

#[tokio::test]
async fn a_program_with_the_token_does_over_tcp_what_it_does_over_the_socket() {
    let scene = Scene::new();
    let open = scene.open();
    let tcp = listen(&scene, &open).await;
    let client = tcp.client(TOKEN);
    let id = soon(client.launch(&ask("@say over tcp\n@end"))).await.unwrap().id;
    let output = soon(client.output(&id.to_string(), Some(LONG))).await.unwrap();
    assert_eq!(output.task.result.unwrap().text.as_deref(), Some("over tcp"));
    let mut deliveries = soon(client.deliveries("cli")).await.unwrap();
    let debrief = soon(deliveries.next()).await.unwrap().unwrap();
    assert!(soon(client.ack(&debrief.id.unwrap())).await.unwrap().known);
    drop(deliveries);
    tcp.close(open).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_nobody_comes_in_without_the_token() {
    let scene = Scene::new();
    let open = scene.open();
    let tcp = listen(&scene, &open).await;
    let wrong = format!("Authorization: Bearer {TOKEN}x");
    let short = format!("Authorization: Bearer {}", &TOKEN[..TOKEN.len() - 1]);
    let (basic, bare) =
        (format!("Authorization: Basic {TOKEN}"), format!("Authorization: {TOKEN}"));
    let twice = format!("{}\r\n{}", bearer(), bearer());
    for headers in [
        vec![HOST],
        vec![HOST, "Authorization: Bearer"],
        vec![HOST, "Authorization: Bearer "],
        vec![HOST, &wrong],
        vec![HOST, &short],
        vec![HOST, &basic],
        vec![HOST, &bare],
        vec![HOST, &twice],
    ] {
        for path in ["/v1/tasks", "/v1/nowhere", "/v1/status?token=homing_sesame", "/v1/events"] {
            let answer = tcp.get(path, &headers).await;
            assert!(answer.starts_with("HTTP/1.1 401 "), "{headers:?}: {answer}");
            assert!(answer.contains("www-authenticate: Bearer"), "{answer}");
            assert!(answer.contains("\"code\":\"E_TOKEN\""), "{answer}");
            assert!(!answer.contains(TOKEN), "{answer}");
        }
    }
    // In an address it is refused even with the token: addresses end up in logs.
    let answer = tcp.get("/v1/status?token=homing_sesame", &[HOST, &bearer()]).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    for path in ["/healthz", "/readyz"] {
        let answer = tcp.get(path, &[HOST]).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path} tells nothing: {answer}");
    }
    tcp.close(open).await;
}

#[tokio::test]
async fn r7_a_token_that_was_changed_counts_at_once_and_an_empty_one_never() {
    let scene = Scene::new();
    let open = scene.open();
    let tcp = listen(&scene, &open).await;
    let client = tcp.client(TOKEN);
    assert!(soon(client.status()).await.is_ok());
    *scene.around.token.lock().unwrap() = "homing_other".to_owned();
    assert_eq!(problem(soon(client.status()).await).code, "E_TOKEN");
    assert!(soon(tcp.client("homing_other").status()).await.is_ok());
    *scene.around.token.lock().unwrap() = String::new();
    for none in ["", "homing_other"] {
        assert_eq!(problem(soon(tcp.client(none).status()).await).code, "E_TOKEN");
    }
    tcp.close(open).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_a_request_for_another_machine_or_from_an_unknown_page_is_refused() {
    let scene = Scene::new();
    let open = scene.open();
    let tcp = listen(&scene, &open).await;
    let token = bearer();
    let port = tcp.address.port();
    for host in ["localhost", "127.0.0.1:1", "[::1]:80", "LOCALHOST:99", "tasks.example"] {
        let answer = tcp.get("/v1/status", &[&format!("Host: {host}"), &token]).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{host}: {answer}");
    }
    for host in ["evil.example", "localhost.evil.example", "192.168.0.1", "", "127.0.0.1:x"] {
        let answer = tcp.get("/v1/status", &[&format!("Host: {host}"), &token]).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{host}: {answer}");
        assert!(answer.contains("E_HOST"), "{host}: {answer}");
    }
    let own = format!("http://127.0.0.1:{port}");
    let here = format!("Host: 127.0.0.1:{port}");
    for origin in ["https://page.example", "HTTPS://PAGE.EXAMPLE", &own] {
        let answer = tcp.get("/v1/status", &[&here, &token, &format!("Origin: {origin}")]).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{origin}: {answer}");
        assert!(answer.contains(&format!("access-control-allow-origin: {origin}")), "{answer}");
    }
    for origin in
        ["https://evil.example", "null", "http://page.example", "https://page.example.evil"]
    {
        let answer = tcp.get("/v1/status", &[&here, &token, &format!("Origin: {origin}")]).await;
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("E_ORIGIN"), "{answer}");
        assert!(!answer.contains("access-control-allow-origin"), "{origin}: {answer}");
    }
    // A browser asks first, and without the token.
    let ask = |origin: &str| {
        format!(
            "OPTIONS /v1/tasks HTTP/1.1\r\n{here}\r\nOrigin: {origin}\r\n\
             Access-Control-Request-Method: POST\r\nConnection: close\r\n\r\n"
        )
    };
    let answer = tcp.raw(&ask("https://page.example")).await;
    assert!(answer.starts_with("HTTP/1.1 204 ") && answer.contains("authorization"), "{answer}");
    assert!(tcp.raw(&ask("https://evil.example")).await.starts_with("HTTP/1.1 403 "));
    tcp.close(open).await;
}

#[tokio::test]
async fn r7_a_caller_inside_a_task_acts_as_it_over_tcp_too() {
    let scene = Scene::new();
    let open = scene.open();
    let tcp = listen(&scene, &open).await;
    let above = open.launch("@gate a\n@end").await;
    *scene.around.calling.lock().unwrap() = Calling::Inside(above);
    let below = soon(tcp.client(TOKEN).launch(&ask("@end"))).await.unwrap().id;
    let shown = soon(open.client.show(&below.to_string())).await.unwrap();
    assert_eq!(shown.launched_by, Some(above));
    *scene.around.calling.lock().unwrap() = Calling::Unknown;
    assert_eq!(problem(soon(tcp.client(TOKEN).status()).await).code, "E_CALLER_UNKNOWN");
    *scene.around.calling.lock().unwrap() = Calling::Outside;
    scene.host.release(above, "a");
    tcp.close(open).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_has_the_name_of_its_request() {
    let scene = Scene::new();
    let open = scene.open();
    let tcp = listen(&scene, &open).await;
    let token = bearer();
    let answer = tcp.get("/v1/status", &[HOST, &token, "X-Request-Id: mine.1"]).await;
    assert!(answer.contains("x-request-id: mine.1\r\n"), "{answer}");
    let odd = format!("X-Request-Id: {}", "x".repeat(500));
    for headers in [vec![HOST, &token], vec![HOST], vec![HOST, &token, &odd], vec!["Host: x"]] {
        let answer = tcp.get("/v1/status", &headers).await;
        let line = answer.lines().find(|line| line.starts_with("x-request-id: "));
        let id = line.unwrap_or_else(|| panic!("no name: {answer}"));
        assert!(id.len() < 100 && !id.contains("xxx"), "{id}");
    }
    tcp.close(open).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_door_that_closes_lets_go_of_those_who_say_nothing() {
    let scene = Scene::new();
    let open = scene.open();
    let tcp = listen(&scene, &open).await;
    let silent = TcpStream::connect(tcp.address).unwrap();
    let mut half = TcpStream::connect(tcp.address).unwrap();
    half.write_all(b"GET /v1/status HT").unwrap();
    let stream = soon(tcp.client(TOKEN).deliveries("cli")).await.unwrap();
    let address = tcp.address;
    tokio::time::timeout(Duration::from_secs(20), tcp.close(open)).await.unwrap();
    assert!(matches!(
        Client::over_tcp(address.to_string(), TOKEN).status().await,
        Err(Error::Unreachable { .. })
    ));
    drop((silent, half, stream));
}
