import Foundation
import JSON
import TestSupport
import Testing

/// An app's own routes together with live queries, functions and reloads.
@Suite("An app's own routes with live queries, slow requests and reloads")
struct RouteScenarioTests {
    private static func code(_ more: String, version: Int = 1) -> String {
        """
        const app = require('express')();
        const { ParseServer } = require('parse-server');
        const server = new ParseServer({
          appId: 'testApp', masterKey: 'testMaster', serverURL: 'http://127.0.0.1/parse',
          cloud: Parse => Parse.Cloud.define('hi', () => 'hello'),
          liveQuery: { classNames: ['Song'] }, startLiveQueryServer: true,
        });
        app.use('/parse', server.app);
        app.get('/version', (req, res) => res.send('\(version)'));
        \(more)
        app.listen(1337);
        """
    }

    @Test("Serves live queries next to the app, keeps its routes off the mount path and opens no second port")
    func beside() async throws {
        let second = try await FreePort.find()
        let more = """
            const other = require('http').createServer(app);
            setImmediate(() => other.listen(\(second), () => console.log('the second listens')));
            """
        try await IndexApp.serve(["index.js": Self.code(more)]) { server, client, _ in
            try await server.liveQuery { live in
                try await live.connect()
                try await live.subscribe(1, "Song")
                _ = try await server.create("Song", ["name": "One"])
                #expect(try await live.next()["object"]?["name"] == "One")
            }
            let below = try await server.send("GET", "/version")
            #expect(below.status == 404 && below.error == "Cannot GET /version", "\(below.text)")
            #expect(try await server.logs("the second listens"))
            #expect(try await server.logs("listen(\(second)) opens no port"))
            let other = TransportClient(port: second)
            await #expect(throws: (any Error).self) { try await other.request("GET", "/version") }
        }
    }

    @Test("Limits a network to 192 open app requests, times them out with 504 and still runs functions")
    func slow() async throws {
        let more = """
            let open = 0;
            app.get('/slow', () => { if (++open === 192) console.log('192 are open'); });
            """
        try await IndexApp.serve(["index.js": Self.code(more)]) { server, client, _ in
            let refused = try await withThrowingTaskGroup(of: TransportClient.Answer?.self) { tasks in
                for _ in 0..<300 {
                    tasks.addTask {
                        try await client.connect { connection in
                            try await connection.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
                            return try await connection.receive()
                        }
                    }
                }
                var refused: [TransportClient.Answer?] = []
                while refused.count < 108, let answer = try await tasks.next() { refused.append(answer) }
                #expect(try await server.logs("192 are open"))
                #expect(try await server.call("hi")["result"] == "hello")
                let late = try await tasks.next()
                #expect(late??.status == 504 && late??.json["error"] == "The app timed out.")
                tasks.cancelAll()
                return refused
            }
            #expect(refused.allSatisfy { $0?.status == 503 && $0?.header("Retry-After") != nil })
        }
    }

    @Test("Completes an open download during a reload while new requests use the new code")
    func reload() async throws {
        let more = """
            app.get('/download', (req, res) => {
              res.writeHead(200, { 'Content-Length': 4 }).write('ab');
              const look = () => (require('fs').existsSync(`${__dirname}/go`) ? res.end('cd') : setTimeout(look, 20));
              look();
            });
            """
        try await IndexApp.serve(["index.js": Self.code(more)], ["watch": true]) { server, client, app in
            try await client.connect { connection in
                try await connection.send("GET /download HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(try await connection.receive(toHead: true)?.status == 200)
                #expect(try await connection.receive(bytes: 2) == Array("ab".utf8))
                try app.write(Self.code(more, version: 2), to: "index.js")
                #expect(try await eventually { try await client.request("GET", "/version").text == "2" })
                // The old process has no further requests, and would have exited otherwise.
                #expect(try await server.logs("cloud code reloaded"))
                try app.write("", to: "go")
                #expect(try await connection.receive(bytes: 2) == Array("cd".utf8))
            }
        }
    }

    @Test("Serves routes added to server.expressApp after startApp")
    func expressApp() async throws {
        let code = """
            const { ParseServer } = require('parse-server');
            (async () => {
              const options = { appId: 'testApp', masterKey: 'testMaster', port: 1337, mountPath: '/parse' };
              const server = await ParseServer.startApp(options);
              server.expressApp.get('/own', (req, res) => res.send(`own ${req.ip}`));
              server.expressApp.get('/parse/own', (req, res) => res.send('never'));
            })();
            """
        try await IndexApp.serve(["index.js": code]) { server, client, _ in
            let own = try await client.request("GET", "/own")
            #expect(own.text == "own 127.0.0.1")
            #expect(try await client.request("GET", "/other").status == 404)
            #expect(try await server.send("GET", "/own").error == "Cannot GET /own")
        }
    }
}
