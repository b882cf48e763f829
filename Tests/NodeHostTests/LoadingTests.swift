import Foundation
import JSON
import NodeHost
import TestSupport
import Testing

@Suite("Loading cloud code")
struct LoadingTests {
    /// The error that prevents a server from starting.
    private static func failure(
        _ files: [String: String], _ options: JSONObject? = nil, sdk: CloudApp.SDK = .current
    ) async throws -> String {
        try await CloudApp.with(files, sdk: sdk) { app in
            var options = options ?? [:]
            if options["cloud"] == nil { options["cloud"] = .string(app.main) }
            do {
                try await TestServer.run(options) { _ in }
                return "it starts"
            } catch {
                return "\(error)"
            }
        }
    }

    @Test("Refuses to start if the cloud code or the Node.js program is missing or unusable")
    func refused() async throws {
        let missing = try await Self.failure([:], ["cloud": "/nowhere/main.js"])
        #expect(missing.contains("option cloud: /nowhere/main.js is not a file"), "\(missing)")
        let folder = try await Self.failure([:], ["cloud": "/"])
        #expect(folder.contains("option cloud: / is not a file"), "\(folder)")
        let program = try await Self.failure(["main.js": ""], ["cloudNode": "/nowhere/node"])
        #expect(program.contains("option cloudNode: /nowhere/node is not an executable"), "\(program)")
        let other = try await Self.failure(["main.js": ""], ["cloudNode": "/bin/true"])
        #expect(
            other.contains("Node.js 18 or later is required, but /bin/true has an unknown version"), "\(other)")
    }

    @Test("Refuses to start if cloud code fails to load, and reports the reason")
    func failing() async throws {
        let thrown = try await Self.failure(["main.js": "throw new Error('not today');"])
        #expect(thrown.contains("not today") && thrown.contains("main.js:1"), "\(thrown)")
        let syntax = try await Self.failure(["main.js": "this is no JavaScript"])
        #expect(syntax.contains("SyntaxError"), "\(syntax)")
        let exiting = try await Self.failure(["main.js": "console.log('so long'); process.exit(7);"])
        #expect(exiting.contains("7"), "\(exiting)")
        let sdk = try await Self.failure(["main.js": ""], sdk: .none)
        #expect(sdk.contains("the package parse was not found from"), "\(sdk)")
        #expect(sdk.contains("npm install parse"))
        let wrong = "Parse.Cloud.define('f', () => {}, { requireUsr: true });"
        let declaration = try await Self.failure(["main.js": wrong])
        #expect(
            declaration.contains("requireUsr is not a supported parameter for Cloud Function validations."),
            "\(declaration)")
        let kind = try await Self.failure(["main.js": "Parse.Cloud.define('f', () => {}, { requireUser: 'yes' });"])
        #expect(
            kind.contains(
                "Invalid type for Cloud Function validation key requireUser. Expected boolean, actual string"),
            "\(kind)")
        let session = try await Self.failure(["main.js": "Parse.Cloud.beforeSave('_Session', () => {});"])
        #expect(session.contains("Only the afterLogout trigger is allowed for the _Session class."), "\(session)")
    }

    @Test("Refuses to start if loading cloud code takes too long")
    func late() async throws {
        try await CloudApp.with(["main.js": "module.exports = new Promise(() => setInterval(() => {}, 1000));"]) {
            app in
            let settings = try TunedServer.settings(app) { $0.startLimit = .milliseconds(500) }
            let host = NodeHost(settings, sendMail: nil, logger: TestServer.quietLogger)
            await #expect(throws: (any Error).self) { try await TunedServer.start(host) }
        }
    }

    @Test("Loads ES modules with imports, the SDK and top-level await")
    func modules() async throws {
        let main = """
            import Parse from 'parse/node.js';
            import { number } from './part.js';
            await new Promise(resolve => setTimeout(resolve, 50));
            Parse.Cloud.define('number', () => number);
            """
        let files = [
            "main.js": main, "part.js": "export const number = 5;", "package.json": #"{"type":"module"}"#,
        ]
        try await CloudApp.serve(files) { server, _ in
            let answer = try await server.call("number")
            #expect(answer["result"] == 5)
        }
    }

    @Test("cloudLegacyCallbacks passes handlers a response with success and error callbacks")
    func legacy() async throws {
        let code = """
            Parse.Cloud.define('hello', function (request, response) {
              setTimeout(function () { response.success('hello ' + request.params.name); }, 20);
            });
            Parse.Cloud.define('no', function (request, response) { response.error('no'); });
            Parse.Cloud.define('coded', function (request, response) { response.error(101, 'gone'); });
            Parse.Cloud.define('thrown', function (request, response) { throw new Error('thrown'); });
            Parse.Cloud.define('modern', request => 'modern');
            Parse.Cloud.beforeSave('Old', function (request, response) {
              if (request.object.get('bad')) { response.error('bad'); return; }
              request.object.set('seen', true);
              response.success();
            });
            """
        try await CloudApp.serve(["main.js": code], ["cloudLegacyCallbacks": true]) { server, _ in
            #expect(try await server.call("hello", ["name": "you"])["result"] == "hello you")
            let refused = try await server.call("no")
            #expect(refused.code == 141 && refused.error == "no", "\(refused.text)")
            let coded = try await server.call("coded")
            #expect(coded.status == 404 && coded.code == 101 && coded.error == "gone", "\(coded.text)")
            #expect(try await server.call("thrown").error == "thrown")
            #expect(try await server.call("modern")["result"] == "modern")
            #expect(try await server.send("POST", "/classes/Old", [:])["seen"] == true)
            #expect(try await server.send("POST", "/classes/Old", ["bad": true]).error == "bad")
        }
    }

    @Test("cloudHttpRequest enables Parse.Cloud.httpRequest, and cloud code can upload files")
    func requests() async throws {
        let code = """
            Parse.Cloud.define('health', async () => {
              const response = await Parse.Cloud.httpRequest({ url: `${Parse.serverURL}/health` });
              return { status: response.status, body: response.data };
            });
            Parse.Cloud.define('upload', async () => {
              const file = new Parse.File('a.txt', { base64: 'aGVsbG8=' }, 'text/plain');
              await file.save({ useMasterKey: true });
              return file;
            });
            """
        try await CloudApp.serve(["main.js": code], ["cloudHttpRequest": true]) { server, _ in
            let health = try await server.call("health")
            #expect(health["result"]?["body"]?["status"] == "ok", "\(health.text)")
            let file = try await server.call("upload")
            #expect(file["result"]?["__type"] == "File", "\(file.text)")
        }
    }

    @Test("Passes parameters and results of 19 MB")
    func largeValues() async throws {
        let code = """
            Parse.Cloud.define('length', request => request.params.text.length);
            Parse.Cloud.define('echo', request => request.params.text);
            """
        try await CloudApp.serve(["main.js": code]) { server, _ in
            let text = String(repeating: "x", count: 19 * 1024 * 1024)
            let length = try await server.call("length", ["text": .string(text)])
            #expect(length["result"] == .number(Double(text.utf8.count)))
            let echo = try await server.call("echo", ["text": .string(text)])
            #expect(echo["result"]?.stringValue?.utf8.count == text.utf8.count)
        }
    }

    @Test("Rejects a result over the size limit and keeps the process running")
    func hugeValues() async throws {
        let code = """
            Parse.Cloud.define('length', request => request.params.text.length);
            Parse.Cloud.define('huge', () => 'x'.repeat(3 * 1024 * 1024));
            """
        try await TunedServer(code) { $0.messageLimit = 2 * 1024 * 1024 }.run { server, _, _ in
            let huge = try await server.call("huge")
            #expect(
                huge.code == 141 && huge.error?.contains("value is larger than") == true, "\(huge.text.prefix(200))")
            #expect(try await server.call("length", ["text": "x"])["result"] == 1)
        }
    }
}
