import Foundation
import JSON
import NodeHost
import ServerConfiguration
import TestSupport
import Testing

@Suite("Reading the options of an app's own index.js")
struct IndexFileTests {
    private static let usual = """
        const express = require('express');
        const { ParseServer } = require('parse-server');
        const ParseDashboard = require('parse-dashboard');
        const S3Adapter = require('@parse/s3-files-adapter');
        const app = express();
        (async () => {
          const server = new ParseServer({
            databaseURI: process.env.DATABASE_URI || 'mongodb://localhost:27017/dev',
            cloud: __dirname + '/cloud/main.js', appId: 'music', masterKey: process.env.MUSIC_KEY || 'm',
            serverURL: 'http://localhost:1337/api', filesAdapter: new S3Adapter('key', 'secret', 'bucket', { region: 'eu' }),
            passwordPolicy: { validatorPattern: /^.{8,}$/ }, serverStartComplete: () => {},
            cacheAdapter: new (class Redis {})(), logLevel: ['error'],
          });
          await server.start();
          app.use('/api', server.app);
          app.use('/dashboard', new ParseDashboard({ apps: [] }));
          const httpServer = require('http').createServer(app);
          httpServer.listen(1444, '127.0.0.1', () => console.log('running'));
          await ParseServer.createLiveQueryServer(httpServer);
        })();
        """

    @Test("Reads options, port, mount path, live queries and known adapters")
    func options() async throws {
        let package = #"{"main": "index.js", "dependencies": {"parse-server": "^7.4.0"}}"#
        try await IndexApp.with(["index.js": Self.usual, "package.json": package]) { app in
            let served = try await app.read()
            let options = served.options
            #expect(options["appId"] == "music" && options["masterKey"] == "m")
            #expect(options["port"] == 1444 && options["host"] == "127.0.0.1")
            #expect(options["mountPath"] == "/api")
            #expect(options["startLiveQueryServer"] == true)
            #expect(options["preset"] == 7)
            #expect(options["databaseURI"] == nil && options["cloud"] == nil)
            #expect(options["passwordPolicy"]?["validatorPattern"] == "^.{8,}$")
            let adapter: JSONValue = [
                "module": "@parse/s3-files-adapter",
                "options": ["accessKey": "key", "secretKey": "secret", "bucket": "bucket", "region": "eu"],
            ]
            #expect(options["filesAdapter"] == adapter)
            #expect(served.undecided.isEmpty, "\(served.undecided)")
            #expect(served.warnings.contains { $0.hasPrefix("databaseURI: ") && $0.contains("roost import") })
            #expect(served.warnings.contains { $0.hasPrefix("parse-dashboard: ") && $0.contains("console") })
            let (configuration, warnings) = try Configuration.load(
                file: options.serialized(), fileName: "index.js", environment: [:], flags: [])
            #expect(configuration.logLevel == "error" && configuration.fileName == "index.js")
            for name in ["cacheAdapter", "serverStartComplete"] {
                #expect(warnings.contains { $0.hasPrefix("option \(name) has no effect") }, "\(warnings)")
            }
        }
    }

    @Test(
        "Reports unsupported JavaScript option values with file and line",
        arguments: [
            ("sessionLength: new (class Forever {})()", "sessionLength: an instance of Forever can't be used"),
            (
                "passwordPolicy: { validatorPattern: () => true }",
                "passwordPolicy.validatorPattern: a JavaScript function can't be used"
            ),
        ])
    func functions(option: String, expected: String) async throws {
        let code = """
            const { ParseServer } = require('parse-server');

            new ParseServer({ appId: 'a', masterKey: 'm', \(option) });
            """
        try await IndexApp.with(["index.js": code]) { app in
            let undecided = try await app.read().undecided
            #expect(undecided.count == 1)
            let text = try #require(undecided.first).text
            #expect(text.hasPrefix(expected) && text.hasSuffix("(index.js:3)"), "\(text)")
        }
    }

    @Test("Takes the HTTPS certificate from the files that the app reads, or warns")
    func https() async throws {
        let code = """
            const { ParseServer } = require('parse-server');
            const fs = require('fs');
            new ParseServer({ appId: 'a', masterKey: 'm' });
            const [key, cert] = [fs.readFileSync('key.pem'), fs.readFileSync('certificate.pem', 'utf8')];
            require('https').createServer({ key, cert: CERTIFICATE }, () => {}).listen(8443);
            """
        for (certificate, isKnown) in [("cert", true), ("cert + '\\n'", false)] {
            try await IndexApp.with(["index.js": code.replacing("CERTIFICATE", with: certificate)]) { app in
                try TestAuthority().write(for: "localhost", to: app.folder)
                let served = try await app.read()
                #expect(served.options["port"] == 8443)
                let warning = served.warnings.first { $0.hasPrefix("https: Roost serves plain HTTP") }
                #expect((warning == nil) == isKnown, "\(served.notes)")
                let folder = URL(fileURLWithPath: app.folder).resolvingSymlinksInPath().path
                let files: JSONValue = [
                    "certificate": .string(folder + "/certificate.pem"), "key": .string(folder + "/key.pem"),
                ]
                #expect(served.options["https"] == (isKnown ? files : JSONValue?.none))
            }
        }
    }

    @Test("Serves the one of several HTTP servers that mounts ParseServer, with its trust proxy setting")
    func severalPorts() async throws {
        let code = """
            const express = require('express');
            const http = require('http');
            const fs = require('fs');
            const { ParseServer } = require('parse-server');
            const app = express();
            app.set('trust proxy', 1);
            app.use('/parse', new ParseServer({ appId: 'testApp', masterKey: 'testMaster' }).app);
            app.get('/hello', (request, response) => response.send('hello'));
            const redirect = (request, response) => response.writeHead(301, { Location: 'https://x' }).end();
            http.createServer(redirect).listen(8080);
            const [key, cert] = [fs.readFileSync('key.pem'), fs.readFileSync('certificate.pem')];
            require('https').createServer({ key, cert }, app).listen(8443);
            """
        try await IndexApp.with(["index.js": code]) { app in
            try TestAuthority().write(for: "localhost", to: app.folder)
            let served = try await app.read()
            #expect(served.options["port"] == 8443 && served.options["https"] != nil, "\(served.options)")
            #expect(served.options["trustProxy"] == 1, "\(served.options)")
            let warnings = served.warnings
            #expect(warnings.contains { $0.hasPrefix("listen(8080): Roost serves only one") }, "\(warnings)")
        }
        let secure = "require('https').createServer({ key, cert }, app)"
        let plain = code.replacing(secure, with: "http.createServer(app)")
            .replacing("[fs.readFileSync('key.pem'), fs.readFileSync('certificate.pem')]", with: "[]")
        try await IndexApp.serve(["index.js": plain]) { _, client, _ in
            let answer = try await client.request("GET", "/hello")
            #expect(answer.status == 200 && answer.text == "hello", "\(answer.status) \(answer.text)")
        }
    }

    @Test("Prefers HTTPS if an app listens with both HTTP and HTTPS")
    func bothProtocols() async throws {
        let code = """
            const fs = require('fs');
            const { ParseServer } = require('parse-server');
            const app = require('express')();
            app.use('/parse', new ParseServer({ appId: 'a', masterKey: 'm' }).app);
            app.listen(8080);
            const [key, cert] = [fs.readFileSync('key.pem'), fs.readFileSync('certificate.pem')];
            require('https').createServer({ key, cert }, app).listen(8443);
            """
        try await IndexApp.with(["index.js": code]) { app in
            try TestAuthority().write(for: "localhost", to: app.folder)
            let served = try await app.read()
            #expect(served.options["port"] == 8443 && served.options["https"] != nil, "\(served.options)")
            #expect(served.warnings.contains { $0.hasPrefix("listen(8080): ") }, "\(served.warnings)")
        }
    }

    @Test("Finds the HTTP server that reaches ParseServer through nested handlers, even if ports are equal")
    func equalPorts() async throws {
        let code = """
            const express = require('express');
            const http = require('http');
            const { ParseServer } = require('parse-server');
            const [app, api] = [express(), express.Router()];
            app.set('trust proxy', 2);
            const options = { appId: 'testApp', masterKey: 'testMaster', serverURL: 'http://localhost/api/parse' };
            api.use('/parse', new ParseServer(options).app);
            app.use('/api', api);
            app.get('/hello', (request, response) => response.send('hello'));
            http.createServer((request, response) => response.end('metrics')).listen(0);
            http.createServer(async (request, response) => {
              await new Promise(resolve => setTimeout(resolve, 20));
              app(request, response);
            }).listen(0);
            """
        try await IndexApp.serve(["index.js": code]) { _, client, app in
            let served = try await app.read()
            #expect(served.undecided.isEmpty, "\(served.undecided)")
            #expect(served.options["mountPath"] == "/api/parse" && served.options["trustProxy"] == 2)
            let answer = try await client.request("GET", "/hello")
            #expect(answer.status == 200 && answer.text == "hello", "\(answer.status) \(answer.text)")
        }
    }

    @Test("Serves the HTTP server found while reading index.js, even if equal ports open in another order")
    func otherOrder() async throws {
        let code = """
            const express = require('express');
            const { ParseServer } = require('parse-server');
            const [app, admin] = [express(), express()];
            const options = { appId: 'testApp', masterKey: 'testMaster', serverURL: 'http://localhost/parse' };
            app.use('/parse', new ParseServer(options).app);
            app.get('/hello', (request, response) => response.send('hello'));
            admin.get('/hello', (request, response) => response.send('admin'));
            // This fails at once while the file is read, but later when it runs.
            const connect = () => new Promise(resolve => require('net').connect(1, '127.0.0.1').on('error', resolve));
            const turns = async () => { for (let turn = 0; turn < 20; turn++) await null; };
            connect().catch(() => {}).then(() => admin.listen(1337, '127.0.0.1')); turns().then(() => app.listen(1337));
            """
        try await IndexApp.serve(["index.js": code]) { _, client, app in
            let undecided = try await app.read().undecided
            #expect(undecided.isEmpty, "\(undecided)")
            let answer = try await client.request("GET", "/hello")
            #expect(answer.status == 200 && answer.text == "hello", "\(answer.status) \(answer.text)")
        }
    }

    @Test("Reports with file and line if none of several HTTP servers is known to mount ParseServer")
    func unknownServer() async throws {
        let code = """
            const { createServer } = require('http');
            const { ParseServer } = require('parse-server');
            new ParseServer({ appId: 'a', masterKey: 'm' });
            createServer(() => {}).listen(8080);
            createServer(() => {}).listen(8081);
            """
        try await IndexApp.with(["index.js": code]) { app in
            let undecided = try await app.read().undecided.map(\.text)
            #expect(
                undecided.count == 1 && undecided[0].hasPrefix("listen: Roost can't tell which"), "\(undecided)"
            )
            #expect(undecided.first?.hasSuffix("(index.js:4, index.js:5)") == true, "\(undecided)")
        }
    }

    @Test("Inherits trust proxy from the outer application, and reports a function as unsupported")
    func trustedProxies() async throws {
        func read(_ value: String) async throws -> ServedApp {
            let code = """
                const express = require('express');
                const { ParseServer } = require('parse-server');
                const [outer, app] = [express(), express()];
                outer.set('trust proxy', \(value));
                outer.use('/v1', app);
                app.use('/parse', new ParseServer({ appId: 'a', masterKey: 'm' }).app);
                outer.listen(1337);
                """
            return try await IndexApp.with(["index.js": code]) { try await $0.read() }
        }
        let taken = try await read("'loopback'")
        #expect(taken.options["trustProxy"] == "loopback" && taken.undecided.isEmpty, "\(taken.notes)")
        let function = try await read("() => true")
        #expect(function.options["trustProxy"] == nil)
        let undecided = function.undecided.map(\.text)
        #expect(
            undecided.count == 1 && undecided[0].hasPrefix("trustProxy: the app's setting \"trust proxy\""),
            "\(undecided)")
    }

    @Test("Reports ParseGraphQLServer as unsupported")
    func graphQL() async throws {
        let code = """
            const { ParseServer, ParseGraphQLServer } = require('parse-server');
            const server = new ParseServer({ appId: 'a', masterKey: 'm' });
            new ParseGraphQLServer(server, { graphQLPath: '/graphql' });
            """
        try await IndexApp.with(["index.js": code]) { app in
            let undecided = try await app.read().undecided.map(\.text)
            #expect(undecided == ["ParseGraphQLServer: Roost has no GraphQL. Remove it (index.js:3)"])
        }
    }

    @Test("Reads ES modules, ParseServer called as a function, and npm start scripts")
    func forms() async throws {
        let module = """
            import express from 'express';
            import Package, { ParseServer, S3Adapter } from 'parse-server';
            import Named from '@parse/s3-files-adapter';
            if (typeof Package.ParseServer !== 'function' || typeof S3Adapter !== 'function' || typeof Named !== 'function') throw 1;
            const api = new ParseServer({ appId: 'a', masterKey: 'm', filesAdapter: new S3Adapter('bucket') });
            await api.start();
            const app = express();
            const outer = express();
            outer.use('/v1', app);
            app.use('/parse', api.app);
            outer.listen(process.env.PORT || '1555');
            """
        let package = #"{"type": "module", "scripts": {"start": "NODE_ENV=production node ./src/server.js"}}"#
        try await IndexApp.with(["src/server.js": module, "package.json": package]) { app in
            let options = try await app.read().options
            #expect(options["mountPath"] == "/v1/parse" && options["port"] == 1555)
            #expect(options["filesAdapter"]?["options"]?["bucket"] == "bucket")
        }
        let older = """
            const ParseServer = require('parse-server').default;
            const api = ParseServer({ appId: 'a', masterKey: 'm', serverURL: 'http://localhost:1337/1' });
            require('express')().use('/1', api).listen(1666);
            """
        try await IndexApp.with(["index.js": older]) { app in
            let options = try await app.read().options
            #expect(options["mountPath"] == "/1" && options["port"] == 1666)
        }
    }

    @Test("Notes the port of startApp, as a number or a string")
    func startedPort() async throws {
        for port in ["1777", "'1777'"] {
            let code = "require('parse-server').ParseServer.startApp({ appId: 'a', masterKey: 'm', port: \(port) });"
            try await IndexApp.with(["index.js": code]) { app in
                let notes = try await app.read().notes.map(\.text)
                #expect(notes.contains { $0.hasPrefix("port: 1777, for Roost") }, "\(notes)")
            }
        }
    }

    @Test("--app selects one of two servers in a file, and is required")
    func severalServers() async throws {
        let code = """
            const { ParseServer } = require('parse-server');
            for (const appId of ['one', 'two']) new ParseServer({ appId, masterKey: 'm' });
            """
        try await IndexApp.with(["index.js": code]) { (app) async throws in
            let error = await #expect(throws: ConfigurationError.self) { try await app.read() }
            #expect(error?.message.contains("one, two. Choose one with --app one") == true, "\(error?.message ?? "")")
            let chosen = try await app.read(["--app", "two"])
            #expect(chosen.options["appId"] == "two")
        }
    }

    @Test("Starts no programs while reading index.js, and warns about programs and connections")
    func sideEffects() async throws {
        let code = """
            const fs = require('fs');
            const { ParseServer } = require('parse-server');
            new ParseServer({ appId: 'a', masterKey: 'm' });
            const programs = require('child_process');
            for (const name of ['spawn', 'spawnSync', 'execFileSync']) {
              try { programs[name]('touch', [`${__dirname}/${name}`]); } catch {}
            }
            try { programs.execSync(`touch '${__dirname}/execSync'`); } catch {}
            require('http').createServer().listen(PORT);
            const connect = require('net').connect;
            try { connect(PORT, '127.0.0.1'); } catch {}
            fetch('http://127.0.0.1:PORT/').catch(() => {});
            """
        let port = try await FreePort.find()
        let files = ["index.js": code.replacing("PORT", with: "\(port)")]
        try await IndexApp.with(files) { app in
            let served = try await app.read()
            #expect(served.warnings.contains { $0.contains("starts programs") }, "\(served.warnings)")
            #expect(served.warnings.contains { $0.contains("connects to other servers") })
            for name in ["spawn", "spawnSync", "execFileSync", "execSync"] {
                #expect(!FileManager.default.fileExists(atPath: "\(app.folder)/\(name)"), "\(name)")
            }
        }
    }

    @Test("Sends no datagrams while reading index.js, warns about them and reads the rest")
    func datagrams() async throws {
        let code = """
            const { createSocket } = require('dgram');
            const { ParseServer } = require('parse-server');
            const done = name => error => error || Promise.reject(new Error(`sent ${name}`));
            createSocket('udp4').send('early', 9, '127.0.0.1', done('early'));
            new ParseServer({ appId: 'a', masterKey: 'm' });
            createSocket('udp4').send('late', 9, '127.0.0.1', done('late'));
            createSocket('udp4').send('late', 9, '127.0.0.1');
            createSocket('udp4').connect(9, '127.0.0.1', done('connected'));
            require('http').createServer().listen(1444);
            """
        try await IndexApp.with(["index.js": code]) { app in
            let served = try await app.read()
            #expect(served.options["port"] == 1444, "\(served.notes)")
            #expect(served.warnings.contains { $0.contains("connects to other servers") }, "\(served.warnings)")
            #expect(!served.warnings.contains { $0.contains("Error: sent ") }, "\(served.warnings)")
        }
    }

    @Test("Writes no files while reading index.js once the server is created, and warns about them")
    func writes() async throws {
        let code = """
            const fs = require('fs');
            const { ParseServer } = require('parse-server');
            const at = name => `${__dirname}/${name}`;
            fs.writeFileSync(at('early'), 'kept');
            new ParseServer({ appId: 'a', masterKey: 'm' });
            fs.writeFileSync(at('early'), 'changed');
            fs.mkdirSync(at('folder'), { recursive: true });
            fs.createWriteStream(at('stream')).end('x');
            fs.writeSync(fs.openSync(at('early'), 'w'), 'changed');
            (async () => {
              await new Promise(resolve => fs.appendFile(at('callback'), 'x', resolve));
              await fs.promises.writeFile(at('promise'), 'x');
              await (await fs.promises.open(at('handle'), 'wx')).writeFile('x');
              await new Promise(resolve => fs.open(at('opened'), fs.constants.O_CREAT | fs.constants.O_WRONLY, resolve));
              const { unlink } = await import('node:fs/promises');
              await unlink(at('early'));
              require('http').createServer().listen(1444);
            })();
            """
        try await IndexApp.with(["index.js": code]) { app in
            let served = try await app.read()
            #expect(served.options["port"] == 1444, "\(served.notes)")
            #expect(served.warnings.contains { $0.contains("it writes files when it runs") }, "\(served.warnings)")
            #expect(try String(contentsOfFile: app.folder + "/early", encoding: .utf8) == "kept")
            for name in ["folder", "stream", "callback", "promise", "handle", "opened"] {
                #expect(!FileManager.default.fileExists(atPath: "\(app.folder)/\(name)"), "\(name)")
            }
        }
    }

    @Test("Limits memory while reading index.js, and stops threads once the server is created")
    func threads() async throws {
        let code = """
            const { Worker } = require('worker_threads');
            const { ParseServer } = require('parse-server');
            const write = name => `require('fs').writeFileSync('${__dirname}/${name}', '')`;
            new Worker(`setTimeout(() => ${write('early')}, 200)`, { eval: true }).on('exit', () => process.exit(1));
            const { heap_size_limit } = require('v8').getHeapStatistics();
            new ParseServer({ appId: 'a', masterKey: 'm', appName: heap_size_limit < 600 * 1024 * 1024 ? 'small' : 'large' });
            new Worker(write('late'), { eval: true });
            """
        try await IndexApp.with(["index.js": code]) { app in
            let served = try await app.read()
            #expect(served.options["appName"] == "small")
            #expect(served.warnings.contains { $0.contains("it starts threads when it runs") }, "\(served.warnings)")
            for name in ["early", "late"] { #expect(!FileManager.default.fileExists(atPath: "\(app.folder)/\(name)")) }
        }
    }

    @Test("Rejects an index.js that fails or creates no server, with the reason")
    func failures() async throws {
        try await IndexApp.with(["index.js": "require('./missing');"]) { app in
            let error = await #expect(throws: ConfigurationError.self) { try await app.read() }
            let message = try #require(error?.message)
            #expect(message.hasPrefix("index.js failed before it created a ParseServer:\n"), "\(message)")
            #expect(message.contains("./missing") && message.contains("index.js:1"))
            #expect(!message.contains("npm install"))
        }
        let module = #"{"type": "module", "main": "index.js"}"#
        for (code, package) in [
            ("require('missing');", "{}"), ("import 'missing/part.js';", module),
            ("await import('@some/missing');", module),
        ] {
            try await IndexApp.with(["index.js": code, "package.json": package]) { app in
                let error = await #expect(throws: ConfigurationError.self) { try await app.read() }
                #expect(
                    error?.message.hasSuffix("\nRun npm install in \(app.folder)") == true, "\(error?.message ?? "")")
            }
        }
        try await IndexApp.with(["index.js": "process.exit(0);"]) { app in
            let error = await #expect(throws: ConfigurationError.self) { try await app.read() }
            #expect(error?.message == "index.js created no ParseServer")
        }
    }

    @Test("Rejects TypeScript and explains how to compile it")
    func typeScript() async throws {
        var arguments = ["index.ts"]
        let error = await #expect(throws: ConfigurationError.self) {
            try await ServedApp.extract(from: &arguments, environment: [:])
        }
        #expect(
            error?.message
                == "index.ts is TypeScript. Compile it, for example with npx tsc, and start the JavaScript file")
    }
}
