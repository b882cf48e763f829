import Foundation
import JSON
import TestSupport
import TestTools
import Testing

/// Complete apps in the style of Back4App, SashiDo and Express, each served from its own index.js.
@Suite("Complete apps with their own index.js")
struct WholeAppTests {
    typealias Check = @Sendable (TestServer, TransportClient) async throws -> Void

    struct Whole: Sendable, CustomTestStringConvertible {
        let name: String
        var arguments: [String] = []
        let check: Check

        var testDescription: String { name }
    }

    private static let apps: [Whole] = [
        Whole(name: "back4app", check: back4App),
        Whole(name: "sashido", check: sashiDo),
        Whole(name: "views", check: views),
        Whole(name: "firebase", check: firebase),
        Whole(name: "nodemailer", check: nodemailer),
        Whole(name: "api-mail", check: apiMail),
        Whole(name: "function", check: cloudFunction),
        Whole(name: "typescript", check: typeScript),
        Whole(name: "modules", check: modules),
        Whole(name: "two", arguments: ["--app", "testApp"], check: twoServers),
    ]

    @Sendable private static func back4App(_ server: TestServer, _ client: TransportClient) async throws {
        #expect(try await server.call("hello")["result"] == "Hello from Cloud Code!")
        #expect(try await client.request("GET", "/hello").json["message"] == "Hello from Express!")
        #expect(try await client.request("GET", "/").text.contains("<title>Music</title>"))
    }

    @Sendable private static func sashiDo(_ server: TestServer, _ client: TransportClient) async throws {
        let body = Array(#"{"name":"One","plays":3}"#.utf8)
        let saved = try await client.request(
            "POST", "/webhook", headers: ["Content-Type": "application/json"], body: body)
        #expect(saved.status == 201 && saved.header("X-App") == "sashido", "\(saved.text)")
        #expect(try await server.call("topSongs")["result"] == ["One"])
        #expect(try await server.send("POST", "/jobs/tidy", [:], as: .master).status == 200)
    }

    @Sendable private static func views(_ server: TestServer, _ client: TransportClient) async throws {
        let form = try await client.request(
            "POST", "/songs", headers: ["Content-Type": "application/x-www-form-urlencoded"],
            body: Array("name=a+%26+b".utf8))
        #expect(form.status == 302 && form.header("Location") == "/songs", "\(form.text)")
        let page = try await client.request("GET", "/songs")
        #expect(page.text.contains("<p>a &#38; b</p>"), "\(page.text)")
        #expect(try await client.request("GET", "/static/style.css").text.hasPrefix("p {"))
        #expect(try await client.request("GET", "/fails").text == "sorry: this page is broken")
        #expect(try await server.call("greet", ["name": "kim"])["result"] == "Hello kim")
    }

    @Sendable private static func firebase(_ server: TestServer, _ client: TransportClient) async throws {
        let user = try await signUp(server, "firebase", ["id": "u1", "access_token": "token:u1"])
        #expect(user["displayName"] == "from Firebase", "\(user.text)")
        let other = try await signUp(server, "firebase", ["id": "u1", "access_token": "token:u2"])
        #expect(other.code == 101 && other.error == "Firebase auth is invalid for this user.", "\(other.text)")
        let headers = ["X-Parse-Session-Token": try user.string("sessionToken")]
        #expect(try await client.request("GET", "/me", headers: headers).json["id"] == user["objectId"])
        #expect(try await client.request("GET", "/me").status == 401)
    }

    @Sendable private static func nodemailer(_ server: TestServer, _ client: TransportClient) async throws {
        _ = try await server.signUp("ann", ["email": "ann@m.example"])
        #expect(try await server.logs("from music@m.example to ann@m.example: Welcome to Music true"))
        #expect(try await server.call("invite", ["to": "lee@m.example"])["result"] == "<1@mail.example>")
        let sent = try await client.request(
            "POST", "/contact", headers: ["Content-Type": "application/x-www-form-urlencoded"],
            body: Array("subject=hi".utf8))
        #expect(sent.text == #"["team@m.example"]"#)
    }

    @Sendable private static func apiMail(_ server: TestServer, _ client: TransportClient) async throws {
        let ann = try await server.signUp("ann", ["email": "ann@m.example", "locale": "de"])
        _ = try await server.signUp("bob", ["email": "bob@m.example"])
        for user in ["ann", "bob"] {
            _ = try await server.send("POST", "/requestPasswordReset", ["email": .string("\(user)@m.example")])
        }
        #expect(
            try await server.logs(
                "mailgun de from music@m.example to ann@m.example: Passwort für Music: Dear ann of Music: LINK"))
        #expect(
            try await server.logs(
                "mailgun undefined from music@m.example to bob@m.example: Reset Music: Dear bob of Music: LINK"))
        #expect(try await server.logs("payload from,to,subject,text,html: <p>Dear bob of Music: <a href="))
        let invited = try await server.send("POST", "/functions/invite", [:], as: .session(ann.token))
        #expect(invited["result"] == "invited", "\(invited.text)")
        #expect(try await client.request("GET", "/status").json["status"] == "ok")
    }

    @Sendable private static func cloudFunction(_ server: TestServer, _ client: TransportClient) async throws {
        #expect(try await server.call("double", ["number": 4])["result"] == 8)
        #expect(try await signUp(server, "pin", ["id": "1", "pin": "1234"]).status == 201)
        #expect(try await signUp(server, "pin", ["id": "1", "pin": "1"]).error == "A PIN has 4 digits.")
        #expect(try await client.request("GET", "/other").status == 404)
    }

    @Sendable private static func typeScript(_ server: TestServer, _ client: TransportClient) async throws {
        #expect(try await server.call("addStation", ["name": "one"]).status == 200)
        #expect(try await client.request("GET", "/v1/stations").text == #"["one"]"#)
        let station = try await signUp(server, "station", ["id": "1", "token": "s"])
        #expect(station["authDataResponse"]?["station"]?["station"] == "1", "\(station.text)")
        #expect(try await signUp(server, "station", ["id": "1", "token": "x"]).error == "This is no station.")
    }

    @Sendable private static func modules(_ server: TestServer, _ client: TransportClient) async throws {
        #expect(try await server.call("shout", ["text": "hi"])["result"] == "HI!")
        #expect(try await signUp(server, "guest", ["id": "1", "door": "front"]).status == 201)
        #expect(try await signUp(server, "guest", ["id": "2", "door": "back"]).error == "This door is closed.")
        #expect(try await client.request("GET", "/users/count").json["count"] == 1)
    }

    @Sendable private static func twoServers(_ server: TestServer, _ client: TransportClient) async throws {
        #expect(try await server.call("name")["result"] == "music")
        #expect(try await signUp(server, "music", ["id": "1"]).status == 201)
        #expect(try await client.request("GET", "/apps").text == #"["music","videos"]"#)
        #expect(try await client.request("GET", "/videos/health").status == 404)
    }

    private static let options: JSONObject = [
        "host": "127.0.0.1", "masterKeyIps": ["127.0.0.1", "::1"], "enforcePrivateUsers": false,
        "allowClientClassCreation": true,
    ]

    @Test("Serves the routes, cloud code and adapters of an app", arguments: apps)
    func wholeApp(_ whole: Whole) async throws {
        try await IndexApp.serve(try IndexApp.files(whole.name), Self.options, arguments: whole.arguments) {
            server, client, _ in
            try await whole.check(server, client)
        }
    }

    @Test("Serves all requests of the five music apps next to an app's cloud code and adapters", arguments: apps)
    func musicApps(_ whole: Whole) async throws {
        let options = Self.options.merging(
            ["preset": 4, "classDefinitions": "music", "clientKey": "testClient"]
        ) { $1 }
        try await IndexApp.serve(try IndexApp.files(whole.name), options, arguments: whole.arguments) { server, _, _ in
            let outcome = try await Program.run([
                "python3", "-B", Checkout.path("scripts/drive_apps.py"), server.url, "--app-id",
                TestServer.applicationID, "--client-key", "testClient",
            ])
            #expect(outcome.status == 0, "\(outcome.output)")
        }
    }

    private static func signUp(_ server: TestServer, _ provider: Name, _ data: JSONObject) async throws -> TestAnswer {
        try await server.send("POST", "/users", ["authData": .object([provider: .object(data)])])
    }
}
