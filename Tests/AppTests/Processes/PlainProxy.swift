import Foundation
import TestSupport
import Testing

/// Debian's nginx or HAProxy in front of a server, with a minimal configuration.
enum PlainProxy: String, CaseIterable, Sendable {
    /// With only `proxy_pass`.
    case nginx
    /// With `proxy_pass`, and `X-Forwarded-For` as in nginx's documentation.
    case appendingNginx
    /// With its defaults.
    case haproxy

    private func settings(_ folder: String, from port: Int, to server: Int) -> String {
        switch self {
        case .nginx, .appendingNginx:
            """
            daemon off; pid \(folder)/pid; error_log \(folder)/log; worker_processes 1;
            \(getuid() == 0 ? "user root;" : "")
            events { worker_connections 64; }
            http {
                access_log off; client_body_temp_path \(folder)/body; proxy_temp_path \(folder)/proxy;
                fastcgi_temp_path \(folder)/fastcgi; uwsgi_temp_path \(folder)/uwsgi; scgi_temp_path \(folder)/scgi;
                server {
                    listen 127.0.0.1:\(port);
                    location / {
                        \(self == .nginx ? "" : "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;")
                        proxy_pass http://127.0.0.1:\(server);
                    }
                }
            }

            """
        case .haproxy:
            """
            defaults
                mode http
                timeout connect 10s
                timeout client 60s
                timeout server 60s
            frontend public
                bind 127.0.0.1:\(port)
                default_backend roost
            backend roost
                server roost 127.0.0.1:\(server)

            """
        }
    }

    func run(before server: TestServer, _ body: @Sendable (TestServer) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-proxy-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let port = try await FreePort.find()
        let to = try #require(URL(string: server.url)?.port)
        try Data(settings(folder, from: port, to: to).utf8).write(to: URL(fileURLWithPath: folder + "/settings"))
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/sbin"
        let command =
            self == .haproxy
            ? ["haproxy", "-db", "-f", folder + "/settings"] : ["nginx", "-p", folder, "-c", folder + "/settings"]
        let process = try await CrashProcess.start(
            ["/usr/bin/env", "PATH=\(path)"] + command, output: folder + "/output")
        defer { kill(process.identifier, SIGTERM) }
        let proxied = TestServer(url: "http://127.0.0.1:\(port)/parse", databaseURI: server.databaseURI)
        let serves = try await eventually {
            (try? await proxied.send("GET", "/health", as: .nobody))?.status == 200
        }
        try #require(serves, "\((try? String(contentsOfFile: folder + "/output", encoding: .utf8)) ?? "")")
        try await body(proxied)
    }
}
