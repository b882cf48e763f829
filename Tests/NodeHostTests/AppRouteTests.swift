import Foundation
import JSON
import TestSupport
import Testing

/// An app's own index.js and its routes next to the API.
@Suite("Serving an app's own index.js")
struct AppRouteTests {
    private static let code = """
        const express = require('express');
        const { ParseServer } = require('parse-server');
        const app = express();
        const server = new ParseServer({
          appId: 'testApp', masterKey: 'testMaster', cloud: __dirname + '/cloud/main.js', serverURL: 'http://127.0.0.1/parse',
        });
        app.use('/parse', server.app);
        app.get('/hello', (req, res) => res.json({ ip: req.ip, headers: req.headers, url: req.url }));
        app.get('/parse/own', (req, res) => res.send('never'));
        app.use('/%70arse', (req, res) => res.send('never'));
        app.get('/query', async (req, res) => res.json({ count: await new Parse.Query('Song').count() }));
        app.get('/cookies', (req, res) => {
          res.setHeader('Set-Cookie', ['a=1', 'b=2']);
          res.setHeader('X-Own', 'yes');
          res.end('two');
        });
        app.get('/gone', () => process.exit(3));
        app.get('/slow', (req, res) => {
          console.log('the slow route began');
          res.on('close', () => console.log(`closed ${res.writableEnded}`));
        });
        app.post('/length', (req, res) => {
          console.log('an upload began');
          req.on('aborted', () => console.log('an upload was aborted'));
          let length = 0;
          req.on('data', piece => { length += piece.length; });
          req.on('end', () => res.send(length));
        });
        app.post('/echo', (req, res) => {
          res.writeHead(200, { 'Content-Length': req.headers['content-length'] });
          res.flushHeaders();
          req.pipe(res);
        });
        app.post('/full', (req, res) => {
          if (req.headers['x-close']) res.setHeader('Connection', 'close');
          res.writeHead(413, { 'Content-Length': 4 }).end('full');
        });
        app.post('/late', (req, res) => {
          res.writeHead(200, { 'Content-Length': 4 }).end('late');
          let length = 0;
          req.on('data', piece => { length += piece.length; });
          req.on('end', () => console.log(`read ${length} late`));
        });
        app.post('/unread', (req, res) => {
          res.writeHead(200, { 'Content-Length': 2 }).write('o');
        });
        app.post('/read', (req, res) => {
          res.writeHead(200, { 'Content-Length': 2 }).write('o');
          req.resume();
        });
        let written = 0;
        const writePieces = count => (req, res) => {
          let left = count;
          written = 0;
          const send = () => {
            while (left-- > 0) {
              written += 65536;
              if (!res.write(Buffer.alloc(65536, 'x'))) return res.once('drain', send);
            }
            res.end();
          };
          res.setHeader('Content-Length', count * 65536);
          send();
        };
        app.get('/large', writePieces(240));
        app.get('/flood', writePieces(2048));
        app.get('/written', (req, res) => res.send(written));
        server.start().then(() => app.listen(1337, () => console.log('the app listens on', 1337)));
        """

    private static let files = [
        "index.js": code, "cloud/main.js": "Parse.Cloud.define('hi', () => 'hello');",
    ]

    @Test("Serves the API, cloud code and the app's routes on one port, and no app routes below the mount path")
    func routes() async throws {
        try await IndexApp.serve(Self.files) { server, client, _ in
            #expect(try await server.call("hi")["result"] == "hello")
            _ = try await server.create("Song", ["name": "x"])
            let hello = try await client.request("GET", "/hello?a=b")
            #expect(hello.status == 200 && hello.json["url"] == "/hello?a=b", "\(hello.text)")
            #expect(hello.json["ip"] == "127.0.0.1")
            #expect(try await client.request("GET", "/query").json["count"] == 1)
            #expect(try await client.request("GET", "/nothing").text == "Cannot GET /nothing")
            for path in [
                "/parse/own", "/PARSE/own", "//parse/own", "/x/../parse/own", "/%70arse/own", "/x%2f..%2fparse/own",
                "/%70arse/%zz", "/%70arse/%ff", "/%70arse/%",
            ] {
                let answer = try await client.request("GET", path)
                #expect(answer.status >= 400 && answer.text != "never", "\(path): \(answer.text)")
            }
            let cookies = try await client.request("GET", "/cookies")
            #expect(cookies.headers.filter { $0.name == "Set-Cookie" }.map(\.value) == ["a=1", "b=2"])
            #expect(cookies.header("X-Own") == "yes" && cookies.header("Access-Control-Allow-Origin") == nil)
            #expect(try await client.request("HEAD", "/cookies").status == 404)
        }
    }

    @Test("Removes keys and hop-by-hop headers, and replaces forwarded addresses unless the proxy is trusted")
    func headers() async throws {
        try await IndexApp.serve(Self.files) { _, client, _ in
            let basic = Data("testApp:testMaster".utf8).base64EncodedString()
            let answer = try await client.request(
                "GET", "/hello",
                headers: [
                    "X-Forwarded-For": "6.6.6.6", "X-Forwarded-Proto": "https", "Connection": "X-Foo, keep-alive",
                    "X-Foo": "1", "X-Bar": "2", "X-Parse-Master-Key": "testMaster", "X-Parse-Maintenance-Key": "k",
                    "X-Parse-Session-Token": "r:1", "Authorization": "Basic \(basic)", "TE": "trailers",
                    "Cookie": "a=1; roost_console_1337=secret; b=2",
                ])
            let headers = try #require(answer.json["headers"]?.objectValue)
            #expect(headers["x-forwarded-for"] == "127.0.0.1" && headers["x-forwarded-proto"] == "http")
            for name in ["x-foo", "x-parse-master-key", "x-parse-maintenance-key", "authorization", "te"] {
                #expect(headers[Name(name)] == nil, "\(name)")
            }
            #expect(headers["x-bar"] == "2" && headers["x-parse-session-token"] == "r:1")
            #expect(headers["cookie"] == "a=1; b=2")
            #expect(headers["host"] == .string("127.0.0.1:\(client.port)"))
            #expect(headers["x-request-id"] != nil)
            let unpadded = Data("app:testMaster".utf8).base64EncodedString().filter { $0 != "=" }
            let others = try await client.request(
                "GET", "/hello", headers: ["Authorization": "Basic \(unpadded)", "Proxy-Other": "1"])
            #expect(others.status == 200)
            #expect(others.json["headers"]?["authorization"] == nil && others.json["headers"]?["proxy-other"] == nil)
            let old = try await client.connect { connection in
                try await connection.send("GET /hello HTTP/1.0\r\n\r\n")
                return try await connection.receive()
            }
            #expect(old?.status == 200, "\(old?.text ?? "")")
        }
        try await IndexApp.serve(Self.files, ["trustProxy": 1]) { _, client, _ in
            let answer = try await client.request(
                "GET", "/hello", headers: ["X-Forwarded-For": "6.6.6.6, 5.5.5.5", "X-Forwarded-Proto": "https"])
            #expect(answer.json["ip"] == "5.5.5.5")
            #expect(answer.json["headers"]?["x-forwarded-proto"] == "https")
        }
    }

    @Test("Never forwards a server key to the app, in any header or authorization scheme")
    func keys() async throws {
        // The hash of "anna-key".
        let options: JSONObject = [
            "readOnlyMasterKey": "testReader", "maintenanceKey": "testKeeper",
            "adminKeys": ["anna": "c2ee7195c6e40b50ba61576394dd66f870e592e2333947c51c39cc11bd332f7a"],
        ]
        try await IndexApp.serve(Self.files, options) { _, client, _ in
            for key in ["testMaster", "testReader", "testKeeper", "anna-key"] {
                let texts = ["testApp:\(key)", ":\(key)", key].map { Data($0.utf8).base64EncodedString() }
                var fields = [
                    "X-Parse-Master-Key", "x-parse-master-key", "X-Parse-Maintenance-Key", "X-Parse-REST-API-Key",
                    "X-Parse-Client-Key", "X-Own",
                ].map { ($0, key) }
                for text in texts {
                    fields += [
                        ("Authorization", "Basic \(text)"), ("authorization", "basic\t \(text) "),
                        ("Authorization", "BASIC \(text.filter { $0 != "=" })"),
                    ]
                }
                fields += [("Authorization", "Bearer \(key)"), ("Authorization", key)]
                for (name, value) in fields {
                    let answer = try await client.request("GET", "/hello", headers: [name: value])
                    let headers = answer.json["headers"]?.objectValue
                    #expect(headers?["host"] != nil, "\(answer.text)")
                    #expect(headers?[Name(name.lowercased())] == nil, "\(name): \(value): \(answer.text)")
                }
            }
            for value in ["Basic \(Data("kim:secret".utf8).base64EncodedString())", "Bearer token"] {
                let answer = try await client.request("GET", "/hello", headers: ["Authorization": value])
                #expect(answer.json["headers"]?["authorization"] == .string(value), "\(answer.text)")
            }
        }
    }

    @Test("Percent-encodes invalid characters in the request target")
    func rawTargets() async throws {
        try await IndexApp.serve(Self.files) { _, client, _ in
            let answer = try await client.request("GET", #"/hello?q={"a":1}|\^`%7B"#)
            #expect(answer.text.contains(#""url":"/hello?q=%7B%22a%22:1%7D%7C%5C%5E%60%7B""#), "\(answer.text)")
        }
    }

    @Test("Rejects ambiguously framed requests, upgrades and TRACE")
    func framing() async throws {
        try await IndexApp.serve(Self.files) { _, client, _ in
            let lengths = try await client.request(
                "POST", "/length", headers: ["Content-Length": "3", "Transfer-Encoding": "chunked"])
            #expect(lengths.status == 400)
            let upgrade = try await client.request(
                "GET", "/hello",
                headers: [
                    "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
                ])
            #expect(upgrade.status == 501, "\(upgrade.text)")
            #expect(try await client.request("TRACE", "/hello").status == 405)
        }
    }

    @Test("Passes bodies of 15 MB in both directions and rejects bodies over maxUploadSize")
    func bodies() async throws {
        try await IndexApp.serve(Self.files) { _, client, _ in
            let body = [UInt8](repeating: 7, count: 15 << 20)
            #expect(try await client.request("POST", "/length", body: body).text == "\(15 << 20)")
            let large = try await client.request("GET", "/large")
            #expect(large.body.count == 240 * 65_536)
            let chunked = try await client.connect { connection in
                try await connection.send(
                    "POST /length HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
                )
                return try await connection.receive()
            }
            #expect(chunked?.text == "5")
            let refused = try await client.connect { connection in
                try await connection.send("POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: \(25 << 20)\r\n\r\n")
                return try await connection.receive()
            }
            #expect(refused?.status == 413)
        }
    }

    @Test("Applies back-pressure to the app if the client doesn't read")
    func unread() async throws {
        try await IndexApp.serve(Self.files) { _, client, _ in
            try await client.connect { connection in
                try await connection.send("GET /flood HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(try await connection.receive(toHead: true)?.status == 200)
                var before = -1
                var written = 0
                repeat {
                    before = written
                    try await Task.sleep(for: .milliseconds(300))
                    written = Int(try await client.request("GET", "/written").text) ?? -1
                } while written != before
                // The buffers of the system hold a few megabytes.
                #expect(written > 0 && written < 32 << 20, "\(written)")
            }
        }
    }

    @Test("Rejects a chunked upload once it exceeds maxUploadSize, and aborts it in the app")
    func growing() async throws {
        try await IndexApp.serve(Self.files, ["maxUploadSize": "1mb"]) { server, client, _ in
            try await client.connect { connection in
                try await connection.send("POST /length HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
                let piece = String(repeating: "x", count: 1 << 18)
                for _ in 0..<5 {
                    // The server may have closed the connection.
                    try? await connection.send("\(String(piece.utf8.count, radix: 16))\r\n\(piece)\r\n")
                }
                #expect(try await connection.receive()?.status == 413)
                #expect(try await server.logs("an upload was aborted"))
            }
        }
    }

    @Test("Streams request and response bodies at the same time")
    func bothWays() async throws {
        try await IndexApp.serve(Self.files) { _, client, _ in
            let piece = [UInt8](repeating: 7, count: 1 << 20)
            try await client.connect { connection in
                try await connection.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \(15 << 20)\r\n\r\n")
                #expect(try await connection.receive(toHead: true)?.status == 200)
                for _ in 0..<15 {
                    try await connection.send(piece)
                    #expect(try await connection.receive(bytes: piece.count) == piece)
                }
                try await connection.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(try await connection.receive()?.status == 200)
            }
        }
    }

    @Test("Forwards a response that the app sends before reading the body, and serves the next request")
    func early() async throws {
        try await IndexApp.serve(Self.files) { server, client, _ in
            let piece = [UInt8](repeating: 7, count: 1 << 20)
            for field in ["", "X-Close: 1\r\n"] {
                try await client.connect { connection in
                    try await connection.send(
                        "POST /full HTTP/1.1\r\nHost: a\r\n\(field)Content-Length: \(15 << 20)\r\n\r\n")
                    let answer = try await connection.receive()
                    #expect(answer?.status == 413 && answer?.text == "full")
                    for _ in 0..<15 { try await connection.send(piece) }
                    try await connection.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")
                    #expect(try await connection.receive()?.status == 200)
                }
            }
            // The app neither reads the body nor ends its response.
            try await client.connect { connection in
                try await connection.send("POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: \(15 << 20)\r\n\r\n")
                #expect(try await connection.receive(toHead: true)?.status == 200)
                #expect(try await connection.receive(bytes: 1) == Array("o".utf8))
            }
            #expect(try await server.call("hi")["result"] == "hello")
        }
    }

    /// Sends requests that the app answers before it has their bodies, and keeps the connections open.
    private static func hold(_ count: Int, _ client: TransportClient) async throws {
        guard count > 0 else { return }
        try await client.connect { connection in
            try await connection.send("POST /full HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nx")
            let answer = try await connection.receive()
            #expect(answer?.status == 413, "\(count) left: \(answer?.text ?? "")")
            try await hold(count - 1, client)
        }
    }

    @Test("Releases the slot after a complete response, and disconnects clients that trickle the remaining body")
    func trickles() async throws {
        try await IndexApp.serve(Self.files) { _, client, _ in
            // More connections than a network may keep open.
            try await Self.hold(200, client)
            try await client.connect { connection in
                try await connection.send("POST /full HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n")
                #expect(try await connection.receive()?.status == 413)
                var pieces = 0
                while pieces < 150, (try? await connection.send("x")) != nil {
                    pieces += 1
                    try await Task.sleep(for: .milliseconds(100))
                }
                #expect(pieces < 150)
            }
        }
    }

    @Test("Lets the app read the rest of the body after it has responded")
    func readsOn() async throws {
        try await IndexApp.serve(Self.files) { server, client, _ in
            try await client.connect { connection in
                try await connection.send("POST /late HTTP/1.1\r\nHost: a\r\nContent-Length: \(1 << 20)\r\n\r\n")
                #expect(try await connection.receive()?.text == "late")
                try await connection.send([UInt8](repeating: 7, count: 1 << 20))
                #expect(try await server.logs("read 1048576 late"))
            }
        }
    }

    @Test("A stalled upload to the app doesn't delay the shutdown")
    func end() async throws {
        let (upload, begin) = try await IndexApp.serve(Self.files) { server, client, _ in
            let upload = Task {
                try await client.connect { connection in
                    try await connection.send("POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc")
                    let answer = try await connection.receive()
                    #expect(answer == nil)
                    return ContinuousClock.now
                }
            }
            let hasBegun = try await server.logs("an upload began")
            #expect(hasBegun)
            return (upload, ContinuousClock.now)
        }
        let end = try await upload.value
        // The time limit of other requests.
        #expect(end - begin < .seconds(10))
    }

    @Test("Aborts the response if a chunked body exceeds maxUploadSize after the response started")
    func grows() async throws {
        try await IndexApp.serve(Self.files, ["maxUploadSize": "1mb"]) { _, client, _ in
            try await client.connect { connection in
                try await connection.send("POST /read HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
                #expect(try await connection.receive(toHead: true)?.status == 200)
                #expect(try await connection.receive(bytes: 1) == Array("o".utf8))
                let piece = String(repeating: "x", count: 1 << 18)
                for _ in 0..<8 {
                    // The server may have closed the connection.
                    try? await connection.send("\(String(piece.utf8.count, radix: 16))\r\n\(piece)\r\n")
                }
                let rest = try? await connection.receive(bytes: 1)
                #expect(rest?.isEmpty ?? true)
            }
        }
    }

    @Test("Tells the app when a client disconnects, and responds 502 until a crashed app is restarted")
    func ends() async throws {
        try await IndexApp.serve(Self.files) { server, client, _ in
            try await client.connect { connection in
                try await connection.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(try await server.logs("the slow route began"))
            }
            #expect(try await server.logs("closed false"))
            #expect(try await client.request("GET", "/gone").status == 502)
            #expect(try await eventually { try await client.request("GET", "/hello").status == 200 })
        }
    }

    @Test("Serves server.cjs on a socket of mode 0600 with a link to the console, and responds 503 while it is down")
    func down() async throws {
        let code = """
            const fs = require('fs');
            const app = require('express')();
            const { ParseServer } = require('parse-server');
            const ParseDashboard = require('parse-dashboard');
            if (fs.existsSync(`${__dirname}/down`)) process.exit(3);
            const server = new ParseServer({
              appId: 'testApp', masterKey: 'testMaster', serverURL: 'http://127.0.0.1/parse', console: { path: '/office' },
            });
            app.use('/parse', server.app);
            app.use('/dashboard', new ParseDashboard({ apps: [] }));
            const listener = app.listen(1337);
            app.get('/mode', (req, res) => res.send((fs.statSync(listener._pipeName).mode & 0o777).toString(8)));
            app.get('/gone', () => process.exit(3));
            """
        let files = ["server.cjs": code, "package.json": #"{"main": "server.cjs"}"#]
        try await IndexApp.serve(files) { server, client, app in
            #expect(try await client.request("GET", "/mode").text == "600")
            let dashboard = try await client.request("GET", "/dashboard")
            #expect(dashboard.status == 302 && dashboard.header("Location") == "/office", "\(dashboard.text)")
            try app.write("", to: "down")
            #expect(try await client.request("GET", "/gone").status == 502)
            let answer = try await client.request("GET", "/mode")
            #expect(answer.status == 503 && answer.text == "The app is not running.", "\(answer.text)")
            #expect(answer.header("Retry-After") == "5")
            #expect(try await server.find("Song", as: .master).status == 200)
        }
    }

    @Test("Serves routes from each of two processes, and sign-ins with the app's own provider")
    func processes() async throws {
        let code = """
            const app = require('express')();
            const { ParseServer } = require('parse-server');
            const server = new ParseServer({
              appId: 'testApp', masterKey: 'testMaster', serverURL: 'http://127.0.0.1/parse',
              auth: { mine: { validateAppId: async () => {}, validateAuthData: async ({ pass }) => {
                if (pass !== 'right') throw new Error('wrong pass');
              } } },
            });
            app.use('/parse', server.app);
            app.get('/process', (req, res) => res.send(String(process.pid)));
            app.listen(1337);
            """
        try await IndexApp.serve(["index.js": code], ["cloudWorkers": 2]) { server, client, _ in
            var seen: Set<String> = []
            for _ in 0..<60 where seen.count < 2 { seen.insert(try await client.request("GET", "/process").text) }
            #expect(seen.count == 2, "\(seen)")
            for (pass, status) in [("right", 201), ("wrong", 400)] {
                let data: JSONValue = ["authData": ["mine": ["id": .string(pass), "pass": .string(pass)]]]
                #expect(try await server.send("POST", "/users", data).status == status)
            }
        }
    }

    @Test("Runs the cloud function of an ES-module app, whose process.argv names the main file")
    func function() async throws {
        let code = """
            import express from 'express';
            import { fileURLToPath } from 'node:url';
            import { ParseServer } from 'parse-server';
            const api = new ParseServer({
              appId: 'testApp', masterKey: 'testMaster', cloud: Parse => Parse.Cloud.define('hi', () => 'module'),
            });
            await api.start();
            const app = express().use('/parse', api.app);
            app.get('/main', (req, res) => res.send(process.argv[1] === fileURLToPath(import.meta.url)));
            app.listen(1337);
            """
        try await IndexApp.serve(["index.mjs": code, "package.json": #"{"main": "index.mjs"}"#]) { server, client, _ in
            let greeting = try await server.call("hi")
            #expect(greeting["result"] == "module")
            let main = try await client.request("GET", "/main")
            #expect(main.text == "true")
        }
    }
}
