import Foundation
import JSON
import NodeHost
import ServerConfiguration
import TestSupport
import Testing

@Suite("Express routes and public files next to cloud code")
struct CloudAppTests {
    private static func serve(
        _ files: [String: String], _ options: JSONObject,
        _ body: @escaping @Sendable (TestServer, TransportClient, IndexApp) async throws -> Void
    ) async throws {
        try await IndexApp.with(files) { app in
            let options = options.merging(["port": 0]) { $1 }
            try await TestServer.run(
                options, logger: UnwrittenLog.logger(), configure: { $0.resolvePaths(in: app.folder) }
            ) { server in
                try await body(server, TransportClient(port: URL(string: server.url)?.port ?? 0), app)
            }
        }
    }

    private static let main = """
        Parse.Cloud.define('hi', () => 'hello');
        app.get('/early', (req, res) => res.send('of main.js'));
        """

    @Test("Serves routes of the global app from cloud/app.js and main.js, except below the mount path")
    func globalApp() async throws {
        let routes = """
            app.get('/hello', (req, res) => res.json({ ip: req.ip, key: req.headers['x-parse-master-key'] ?? null }));
            app.get('/parse/hello', (req, res) => res.send('never'));
            app.get('/count', async (req, res) => res.json({ count: await new Parse.Query('Song').count() }));
            """
        let options: JSONObject = ["cloud": "./cloud/main.js", "cloudApp": "./cloud/app.js"]
        try await Self.serve(["cloud/main.js": Self.main, "cloud/app.js": routes], options) { server, client, _ in
            #expect(try await server.call("hi")["result"] == "hello")
            let hello = try await client.request("GET", "/hello", headers: ["X-Parse-Master-Key": "testMaster"])
            #expect(hello.json["ip"] == "127.0.0.1" && hello.json["key"] == .null, "\(hello.text)")
            #expect(try await client.request("GET", "/early").text == "of main.js")
            _ = try await server.create("Song", ["name": "x"])
            #expect(try await client.request("GET", "/count").json["count"] == 1)
            #expect(try await client.request("GET", "/parse/hello").text != "never")
            let below = try await server.send("GET", "/hello")
            #expect(below.status == 404 && below.error == "Cannot GET /hello", "\(below.text)")
            #expect(try await client.request("GET", "/nothing").text == "Cannot GET /nothing")
        }
    }

    @Test(
        "Serves an exported app without cloud code, and opens no port when it calls listen",
        arguments: [
            (
                "cloud/app.js",
                "const app = require('express')(); module.exports = app; app.listen(3000, () => console.log('called'));"
                    + "app.get('/hello', (req, res) => res.send('hello'));"
            ),
            (
                "cloud/app.mjs",
                "import express from 'express'; const app = express(); export default app; "
                    + "app.get('/hello', (req, res) => res.send('hello')); app.listen(3000, () => console.log('called'));"
            ),
            (
                "cloud/plain.js",
                "const http = require('http'); exports.app = async (req, res) => res.end('hello'); "
                    + "http.createServer(exports.app).listen(3000, () => console.log('called'));"
            ),
        ])
    func exportedApp(file: String, code: String) async throws {
        try await Self.serve([file: code], ["cloudApp": .string(file)]) { server, client, _ in
            let answer = try await client.request("GET", "/hello")
            #expect(answer.text == "hello")
            #expect(try await server.logs("listen opens no port"))
            #expect(try await server.logs("called"))
        }
    }

    @Test("Serves public files before routes, with content types, ETags and ranges")
    func files() async throws {
        let files = [
            "cloud/app.js":
                "app.get('/a.txt', (req, res) => res.send('route')); app.post('/a.txt', (req, res) => res.send('post'));",
            "public/a.txt": "0123456789", "public/pages/index.html": "<h1>page</h1>", "public/b c.css": "",
        ]
        let options: JSONObject = ["cloudApp": "./cloud/app.js", "publicFolder": "./public"]
        try await Self.serve(files, options) { _, client, _ in
            let file = try await client.request("GET", "/a.txt?v=1")
            #expect(file.status == 200 && file.text == "0123456789", "\(file.text)")
            #expect(file.header("Content-Type") == "text/plain; charset=utf-8")
            #expect(file.header("X-Content-Type-Options") == "nosniff")
            let tag = try #require(file.header("ETag"))
            let known = try await client.request("GET", "/a.txt", headers: ["If-None-Match": tag])
            #expect(known.status == 304 && known.body.isEmpty)
            let part = try await client.request("GET", "/a.txt", headers: ["Range": "bytes=2-4"])
            #expect(part.status == 206 && part.text == "234")
            #expect(part.header("Content-Range") == "bytes 2-4/10")
            #expect(try await client.request("GET", "/a.txt", headers: ["Range": "bytes=10-"]).status == 416)
            let head = try await client.request("HEAD", "/a.txt")
            #expect(head.status == 200 && head.header("Content-Length") == "10")
            #expect(try await client.request("POST", "/a.txt").text == "post")
            let style = try await client.request("GET", "/b%20c.css")
            #expect(style.status == 200 && style.header("Content-Type") == "text/css; charset=utf-8")
            let folder = try await client.request("GET", "/pages")
            #expect(folder.status == 301 && folder.header("Location") == "/pages/")
            #expect(try await client.request("GET", "/pages/").text == "<h1>page</h1>")
        }
    }

    @Test("Never serves hidden files or files outside the public folder")
    func hiddenFiles() async throws {
        let files = [
            "roost.json": "secret", "public/.env": "secret", "public/.git/config": "secret", "public/a.txt": "a",
            "public-not/b.txt": "secret",
        ]
        try await Self.serve(files, ["publicFolder": "public"]) { _, client, app in
            for (link, target) in [
                ("out.txt", "../roost.json"), ("up", ".."), ("env.txt", ".env"), ("near.txt", "../public-not/b.txt"),
                ("in.txt", "a.txt"),
            ] {
                try FileManager.default.createSymbolicLink(
                    atPath: "\(app.folder)/public/\(link)", withDestinationPath: target)
            }
            for path in [
                "/.env", "/%2eenv", "/.git/config", "/..%2froost.json", "/%2e%2e/roost.json", "/../roost.json",
                "/out.txt",
                "/up/roost.json", "/env.txt", "/near.txt", "/a.txt%00", "/a.txt/", "//a.txt", "/%zz", "/x\\..\\a.txt",
                "/",
            ] {
                let answer = try await client.request("GET", path)
                #expect(answer.status == 404 || answer.status == 400, "\(path) \(answer.status) \(answer.text)")
                #expect(!answer.text.contains("secret"))
            }
            #expect(try await client.request("GET", "/in.txt").text == "a")
        }
    }

    @Test("Serves the app's page at /, not the console")
    func home() async throws {
        let app = "app.get('/', (req, res) => res.send('home'));"
        for files in [["public/index.html": "home"], ["cloud/app.js": app]] as [[String: String]] {
            let options: JSONObject =
                files.keys.contains("cloud/app.js") ? ["cloudApp": "./cloud/app.js"] : ["publicFolder": "./public"]
            try await Self.serve(files, options) { _, client, _ in
                let browser = ["Accept": "text/html", "Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"]
                let answer = try await client.request("GET", "/", headers: browser)
                #expect(answer.status == 200 && answer.text == "home", "\(answer.text)")
            }
        }
    }

    @Test("Serves the routes of index.js together with cloud/app.js and public files")
    func besideIndex() async throws {
        let code = """
            const { ParseServer } = require('parse-server');
            const app = require('express')();
            const server = new ParseServer({
              appId: 'testApp', masterKey: 'testMaster', serverURL: 'http://127.0.0.1/parse', cloud: './cloud/main.js',
              cloudApp: './cloud/app.js', publicFolder: './public',
            });
            app.use('/parse', server.app);
            app.get('/own', (req, res) => res.send(`own ${req.ip}`));
            server.start().then(() => app.listen(1337));
            """
        let files = [
            "index.js": code, "cloud/main.js": Self.main, "public/a.txt": "a",
            "cloud/app.js": "app.get('/hello', (req, res) => res.send('hello'));",
        ]
        try await IndexApp.serve(files) { _, client, _ in
            for (path, text) in [
                ("/own", "own 127.0.0.1"), ("/hello", "hello"), ("/a.txt", "a"), ("/early", "of main.js"),
            ] {
                let answer = try await client.request("GET", path)
                #expect(answer.text == text)
            }
            #expect(try await client.request("GET", "/nothing").text == "Cannot GET /nothing")
        }
    }

    @Test(
        "Refuses to start with an invalid cloudApp or publicFolder",
        arguments: [
            (["cloudApp": "./app.js"], "exports no app"), (["cloudApp": "./gone.js"], "Cannot find module"),
            (["publicFolder": "./gone"], "no such file or directory"),
            (["publicFolder": "./public", "mountPath": "/"], "option publicFolder can't be used with mountPath \"/\""),
            (["cloudApp": "./own.js", "mountPath": "/"], "option cloudApp can't be used with mountPath \"/\""),
        ] as [(JSONObject, String)])
    func starts(options: JSONObject, expected: String) async throws {
        let files = [
            "app.js": "globalThis.app = undefined;", "own.js": "module.exports = () => {};", "public/a.txt": "a",
        ]
        let error = await #expect(throws: (any Error).self) { try await Self.serve(files, options) { _, _, _ in } }
        #expect(
            error.map { "\($0)".replacing("\\'", with: "'").contains(expected) } == true, "\(String(describing: error))"
        )
    }
}
