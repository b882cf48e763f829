import JSON
import TestSupport
import Testing

/// Webhook triggers of log-ins, files and config.
@Suite struct AccountTriggerTests {
    @Test("Triggers see log-ins and log-outs; an error from an after trigger is returned but undoes nothing")
    func sessions() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                let kim = try await server.signUp("kim", password: "p")
                for (event, className) in [
                    ("beforeLogin", "_User"), ("afterLogin", "_User"), ("afterLogout", "_Session"),
                ] {
                    try await hooks.trigger(event, className, on: server) { _ in .nothing }
                }
                let user = try await server.send(
                    "POST", "/login", ["username": "kim", "password": "p"],
                    headers: ["X-Parse-Cloud-Context": "{\"a\":1}"]
                ).succeeded()
                let before = try #require(hooks.calls("_User.beforeLogin").first)
                #expect(before["object"]?["className"] == "_User")
                #expect(before["object"]?["username"] == "kim")
                #expect(before["object"]?["password"] == nil)
                #expect(before["user"] == nil)
                #expect(before["context"] == ["a": 1])
                let after = try #require(hooks.calls("_User.afterLogin").first)
                #expect(after["object"]?["sessionToken"] == user["sessionToken"])
                #expect(after["user"]?["objectId"] == .string(kim.id))
                hooks.on("_Session.afterLogout") { _ in .error("too late") }
                let token = try user.string("sessionToken")
                let logout = try await server.send("POST", "/logout", as: .session(token))
                #expect(logout.json == ["code": 141, "error": "too late"])
                let call = try #require(hooks.calls("_Session.afterLogout").first)
                #expect(call["object"]?["sessionToken"] == .string(token))
                #expect(call["context"] == nil)
                #expect(try await server.send("GET", "/users/me", as: .session(token)).code == 209)
                hooks.on("_User.afterLogin") { _ in .error("too late") }
                let sessions = try await server.find("_Session", nil, as: .master).results.count
                let refused = try await server.send("POST", "/login", ["username": "kim", "password": "p"])
                #expect(refused.json == ["code": 141, "error": "too late"])
                #expect(try await server.find("_Session", nil, as: .master).results.count == sessions + 1)
            }
        }
    }

    @Test("A log-in with a provider calls beforeLogin and the user's afterSave, as in parse-server")
    func providers() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                for event in ["beforeLogin", "afterLogin", "beforeSave", "afterSave"] {
                    try await hooks.trigger(event, "_User", on: server) { _ in .nothing }
                }
                let body: JSONValue = ["authData": ["anonymous": ["id": "anonymous-device"]]]
                let signedUp = try await server.send("POST", "/users", body).succeeded()
                #expect(hooks.calls.map(\.name) == ["_User.beforeSave", "_User.afterSave"])
                #expect(signedUp["username"] != nil)
                #expect(hooks.calls[1]["object"]?["sessionToken"] == signedUp["sessionToken"])
                hooks.forgetCalls()
                let loggedIn = try await server.send("POST", "/users", body).succeeded()
                #expect(hooks.calls.map(\.name) == ["_User.beforeLogin", "_User.afterSave"])
                #expect(hooks.calls[1]["object"]?["sessionToken"] == loggedIn["sessionToken"])
                hooks.on("_User.beforeLogin") { _ in .error("no") }
                #expect(try await server.send("POST", "/users", body).json == ["code": 141, "error": "no"])
            }
        }
    }

    @Test("File triggers see uploads, downloads and deletions, and can reject uploads and downloads")
    func files() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run(["fileUpload": ["enableForPublic": true]]) { server in
                let events = ["beforeSave", "afterSave", "beforeFind", "afterFind", "beforeDelete", "afterDelete"]
                for event in events { try await hooks.trigger(event, "@File", on: server) { _ in .nothing } }
                func upload() async throws -> TestAnswer {
                    try await server.send(
                        "POST", "/files/a.txt", bytes: Array("hello".utf8), headers: ["Content-Type": "text/plain"])
                }
                let stored = try await upload().succeeded()
                let (url, name) = (try stored.string("url"), try stored.string("name"))
                let before = try #require(hooks.calls.first)
                #expect(before["file"] == ["__type": "File", "name": "a.txt"])
                #expect(before["fileSize"] == 5)
                #expect(before["context"] == nil)
                #expect(hooks.calls.last?["file"] == ["__type": "File", "name": .string(name), "url": .string(url)])
                #expect(try await server.send("GET", url).text == "hello")
                // Images in web pages are requested without Parse headers.
                #expect(try await server.send("GET", url, as: .nobody).text == "hello")
                let metadata = "/files/\(TestServer.applicationID)/metadata/\(name)"
                #expect(try await server.send("GET", metadata).status == 200)
                for event in ["beforeFind", "afterFind"] {
                    hooks.on("@File.\(event)") { _ in .error("not yours") }
                    for path in [url, metadata] {
                        for sender in [TestServer.Identity.anonymous, .nobody] {
                            let refused = try await server.send("GET", path, as: sender)
                            #expect(refused.status == 403 && refused.error == "not yours", "\(event) \(path)")
                        }
                    }
                    hooks.on("@File.\(event)") { _ in .nothing }
                }
                hooks.on("@File.beforeDelete") { _ in .error("") }
                _ = try await server.send("DELETE", "/files/\(name)", as: .master).succeeded()
                #expect(hooks.calls.map(\.name).suffix(2) == ["@File.beforeDelete", "@File.afterDelete"])
                hooks.on("@File.beforeSave") { _ in .error("no text") }
                #expect(try await upload().json == ["code": 130, "error": "no text"])
                hooks.on("@File.beforeSave") { _ in .error(["code": 1337, "message": "x"]) }
                #expect(try await upload().json == ["code": 1337, "error": "x"])
            }
        }
    }

    @Test("Config triggers see the parameters before and after a change, and can reject it")
    func configuration() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                for event in ["beforeSave", "afterSave"] {
                    try await hooks.trigger(event, "@Config", on: server) { _ in .nothing }
                }
                func change(_ value: JSONValue) async throws -> TestAnswer {
                    try await server.send(
                        "PUT", "/config", ["params": ["a": value]], as: .master,
                        headers: ["X-Parse-Cloud-Context": "{\"c\":1}"])
                }
                #expect(try await change(1).json == ["result": true])
                #expect(try await change(2).json == ["result": true])
                let last = try #require(hooks.calls.last)
                #expect(last["object"] == ["params": ["a": 2], "className": "@Config"])
                #expect(last["original"] == ["params": ["a": 1], "className": "@Config"])
                #expect(last["context"] == ["c": 1])
                hooks.on("@Config.beforeSave") { _ in .error("no") }
                #expect(try await change(3).json == ["code": 141, "error": "no"])
                #expect(try await server.send("GET", "/config")["params"] == ["a": 2])
            }
        }
    }

    @Test("Triggers receive complete roles and installations")
    func others() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                for className in ["_Role", "_Installation"] {
                    for event in ["beforeSave", "afterSave"] {
                        try await hooks.trigger(event, className, on: server) { _ in .nothing }
                    }
                }
                _ = try await server.send(
                    "POST", "/roles", ["name": "editors", "ACL": ["*": ["read": true]]], as: .master
                ).succeeded()
                let role = try #require(hooks.calls("_Role.afterSave").first)
                #expect(role["object"]?["name"] == "editors")
                #expect(role["object"]?["ACL"] == ["*": ["read": true]])
                let body: JSONValue = ["deviceType": "ios", "installationId": "one"]
                let first = try await server.send("POST", "/installations", body).succeeded()
                for (body, device): (JSONValue, String?) in [
                    (body, nil), (["deviceType": "ios", "installationId": "ONE"], nil), (["deviceType": "ios"], "One"),
                ] {
                    let headers = device.map { ["X-Parse-Installation-Id": $0] } ?? [:]
                    let again = try await server.send("POST", "/installations", body, headers: headers)
                    #expect(again.status == 200 && again["objectId"] == first["objectId"], "\(again.text)")
                    let call = try #require(hooks.calls("_Installation.beforeSave").last)
                    #expect(call["object"]?["objectId"] == first["objectId"])
                    #expect(call["original"]?["objectId"] == first["objectId"])
                }
            }
        }
    }
}
