import JSON
import TestSupport
import Testing

@Suite struct RouteAllowListTests {
    private static func expectRefusal(_ answer: TestAnswer, _ what: String = "") {
        #expect(answer.status == 400, "\(what) \(answer.text)")
        #expect(answer.code == 119, "\(what) \(answer.text)")
        #expect(answer.error == "Permission denied", "\(what) \(answer.text)")
    }

    @Test("Restricts clients to the listed routes, but not the master, read-only and maintenance keys")
    func routes() async throws {
        let options: JSONObject = [
            "routeAllowList": ["classes/Public.*", "users", "login", "serverInfo|users/me"],
            "readOnlyMasterKey": "testReadOnly",
        ]
        try await TestServer.run(options) { server in
            let id = try await server.create("PublicSong", ["n": 1])
            #expect(try await server.send("GET", "/classes/PublicSong/\(id)?keys=n")["n"] == 1)
            #expect(try await server.send("GET", "/classes/PublicSong/").results.count == 1)
            let user = try await server.signUp("anna")
            #expect(try await server.send("GET", "/users/me", as: .session(user.token)).status == 200)
            // A listed route still applies its own rules.
            #expect(try await server.send("GET", "/serverInfo").status == 403)
            let refused = [
                ("GET", "/classes/Song"), ("GET", "/classes/Publi"), ("GET", "/xclasses/PublicSong"),
                ("GET", "/users/\(user.id)"), ("GET", "/users/mex"), ("POST", "/logout"), ("GET", "/config"),
                ("GET", "/nosuch"), ("GET", "/"), ("GET", "/login/x"), ("GET", "/schemas/PublicSong"),
            ]
            for (method, path) in refused {
                Self.expectRefusal(try await server.send(method, path, as: .session(user.token)), path)
            }
            // The session token isn't checked before the list.
            Self.expectRefusal(try await server.send("GET", "/classes/Song", as: .session("nobody's")))
            for identity in [TestServer.Identity.master, .maintenance] {
                #expect(try await server.send("GET", "/classes/Song", as: identity).status == 200)
            }
            let reader = try await server.send(
                "GET", "/classes/Song", as: .nobody,
                headers: ["X-Parse-Application-Id": TestServer.applicationID, "X-Parse-Master-Key": "testReadOnly"])
            #expect(reader.status == 200)
        }
    }

    @Test("Alternative spellings of a path don't bypass the list")
    func spellings() async throws {
        try await TestServer.run(["routeAllowList": ["(?!classes/Secret|users|loginAs|schemas).*"]]) { server in
            _ = try await server.create("Secret", ["n": 1], as: .master)
            for path in [
                "/classes/Secret", "/Classes/Secret", "/classes//Secret", "//classes/Secret/", "/classes/%53ecret",
                "/%63lasses/Secret", "/USERS", "/users/ME", "/loginas", "/LOGINAS",
            ] {
                Self.expectRefusal(try await server.send("GET", path), path)
            }
            let disguised: JSONValue = ["_method": "GET", "where": [:]]
            Self.expectRefusal(try await server.send("POST", "/classes/Secret", disguised))
            #expect(try await server.send("GET", "/classes/Song").status == 200)
        }
    }

    @Test("Rejects a batch without running any of it unless the batch and each request are listed")
    func batches() async throws {
        func batch(_ classes: [String], transaction: Bool = false) -> JSONValue {
            [
                "transaction": .bool(transaction),
                "requests": .array(
                    classes.map { ["method": "POST", "path": .string("/parse/classes/\($0)"), "body": ["n": 1]] }),
            ]
        }
        let allowed = batch(["Public", "Public"])
        let mixed = batch(["Public", "Secret"])
        let together = batch(["Public", "Secret"], transaction: true)
        try await TestServer.run(["routeAllowList": ["batch", "classes/Public"]]) { server in
            #expect(try await server.send("POST", "/batch", allowed).status == 200)
            Self.expectRefusal(try await server.send("POST", "/batch", mixed))
            Self.expectRefusal(try await server.send("POST", "/batch", together))
            #expect(try await server.find("Public").results.count == 2)
            #expect(try await server.send("POST", "/batch", mixed, as: .master).status == 200)
            try await server.alongside(["routeAllowList": ["classes/Public"]]) { other in
                Self.expectRefusal(try await other.send("POST", "/batch", allowed))
            }
        }
    }

    @Test("An empty list leaves only files and the health check open to clients")
    func emptyList() async throws {
        let options: JSONObject = [
            "routeAllowList": [], "enableSanitizedErrorResponse": false, "fileUpload": ["enableForPublic": true],
        ]
        try await TestServer.run(options) { server in
            let answer = try await server.send("POST", "/users/?x=1", ["username": "a", "password": "b"])
            #expect(answer.status == 400)
            #expect(answer.code == 119)
            #expect(answer.error == "Route not allowed by routeAllowList: POST users")
            #expect(try await server.send("GET", "/health", as: .nobody).status == 200)
            let file = try await server.send(
                "POST", "/files/a.txt", bytes: Array("text".utf8), headers: ["Content-Type": "text/plain"])
            #expect(file.status == 201)
            #expect(try await server.send("GET", file.string("url"), as: .nobody).status == 200)
        }
    }
}
