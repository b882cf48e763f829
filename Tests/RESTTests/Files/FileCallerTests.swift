import App
import JSON
import Roost
import TestSupport
import Testing

@Suite("File permissions")
struct FileCallerTests {
    private static func upload(
        _ server: TestServer, _ name: String, type: String? = "text/plain", as identity: TestServer.Identity = .master,
        headers: [String: String] = [:]
    ) async throws -> TestAnswer {
        var headers = headers
        headers["Content-Type"] = type
        return try await server.send(
            "POST", "/files/\(name)", bytes: Array("data".utf8), as: identity, headers: headers)
    }

    /// All kinds of callers, and the permission group of those without a key.
    private static func callers(_ server: TestServer) async throws -> [(TestServer.Identity, group: String?)] {
        let kim = try await server.signUp("kim").token
        let anonymous = try await server.send("POST", "/users", ["authData": ["anonymous": ["id": "a1"]]])
            .string("sessionToken")
        return [
            (.anonymous, "public"), (.session(kim), "authenticated user"), (.session(anonymous), "anonymous user"),
            (.master, nil), (.maintenance, nil),
        ]
    }

    @Test("fileUpload options apply to users, but not to the master and maintenance keys")
    func uploads() async throws {
        try await TestServer.run(["readOnlyMasterKey": "readonly"]) { server in
            for (caller, group) in try await Self.callers(server) {
                let answer = try await Self.upload(server, "a.txt", as: caller)
                let refused = ["public", "anonymous user"].contains(group)
                #expect(answer.status == (refused ? 400 : 201))
                #expect(answer.code == (refused ? 130 : nil))
                #expect(answer.error == (refused ? "File upload by \(group ?? "") is disabled." : nil))
            }
            let wrong = try await Self.upload(server, "a.txt", as: .session("r:wrong"))
            #expect(wrong.code == 209)
            var headers = ["X-Parse-Application-Id": TestServer.applicationID]
            let unnamed = try await Self.upload(server, "a.txt", as: .nobody, headers: headers)
            #expect(unnamed.text == #"{"error":"unauthorized"}"#)
            headers["X-Parse-Master-Key"] = "readonly"
            let readOnly = try await Self.upload(server, "a.txt", as: .nobody, headers: headers)
            #expect(readOnly.status == 403)
            #expect(readOnly.text == #"{"error":"Permission denied"}"#)
        }
        let opposite: JSONValue = [
            "enableForPublic": true, "enableForAnonymousUser": true, "enableForAuthenticatedUser": false,
        ]
        try await TestServer.run(["fileUpload": opposite]) { server in
            for (caller, group) in try await Self.callers(server) {
                let answer = try await Self.upload(server, "a.txt", as: caller)
                #expect(answer.status == (group == "authenticated user" ? 400 : 201))
            }
        }
    }

    @Test("Folders and higher size limits require the master key")
    func masterAlone() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim").token
            let folder = try await Self.upload(
                server, "a.txt", as: .session(kim), headers: ["X-Parse-File-Directory": "a"])
            #expect(folder.code == 119)
            let size = try await Self.upload(
                server, "a.txt", as: .session(kim), headers: ["X-Parse-File-Max-Upload-Size": "1gb"])
            #expect(size.status == 403)
            #expect(size.text == #"{"error":"Permission denied"}"#)
        }
        try await TestServer.run(["enableSanitizedErrorResponse": false]) { server in
            let size = try await Self.upload(
                server, "a.txt", as: .maintenance, headers: ["X-Parse-File-Max-Upload-Size": "1gb"])
            #expect(size.text == #"{"error":"unauthorized: master key is required"}"#)
            let deletion = try await server.send("DELETE", "/files/a.txt", as: .session("r:wrong"))
            #expect(deletion.status == 403)
            #expect(deletion.text == #"{"error":"unauthorized: master key is required"}"#)
        }
    }

    @Test("Rejects files that a browser could run, by extension or, if that is unknown, by type")
    func extensions() async throws {
        let cases: [(String, String?, refused: String?)] = [
            ("a.html", "text/html", "html"), ("a.HTM", "text/plain", "HTM"), ("noext", "text/html", "html"),
            ("a.svg", "image/svg+xml", "svg"), ("noext", "image/svg+xml;charset=utf-8", "svg+xml"),
            ("a.xhtml", nil, "xhtml"), ("a.html.", "text/plain", "html"), ("a.html.%20.", "text/plain", "html"),
            ("a.h%20tml", "text/plain", "html"), ("a.xyz", "text/html", "html"), ("a.foo", "image/svg+xml", "svg+xml"),
            ("a.xslt", nil, "xslt"), ("noext", "application/xml", "xml"), ("a.png", "image/png", nil),
            ("a.txt", "text/html", nil), ("a.jpg", nil, nil), ("file", "application/x-www-form-urlencoded", nil),
            ("a.xyz", "application/octet-stream", nil), ("noext", nil, nil),
        ]
        try await TestServer.run { server in
            let kim = try await server.signUp("kim").token
            for (name, type, refused) in cases {
                let answer = try await Self.upload(server, name, type: type, as: .session(kim))
                #expect(answer.status == (refused == nil ? 201 : 400), "\(name) \(type ?? "")")
                #expect(answer.code == refused.map { _ in 130 })
                #expect(answer.error == refused.map { "File upload of extension \($0) is disabled." })
            }
        }
    }

    @Test("Users can upload only the extensions listed in fileExtensions; an asterisk allows all")
    func extensionLists() async throws {
        try await TestServer.run(["fileUpload": ["fileExtensions": ["^(txt|png)$"]]]) { server in
            let kim = try await server.signUp("kim").token
            let listed = try await Self.upload(server, "a.txt", as: .session(kim))
            let unlisted = try await Self.upload(server, "a.gif", as: .session(kim))
            let byMaster = try await Self.upload(server, "a.gif")
            #expect([listed.status, unlisted.status, byMaster.status] == [201, 400, 201])
            // parse-server's treatment of uploads whose names have no extension.
            for (type, status) in [
                (nil, 201), ("text/plain", 400), ("image/png", 201), ("application/x-www-form-urlencoded", 400),
            ] as [(String?, Int)] {
                let unnamed = try await Self.upload(server, "noext", type: type, as: .session(kim))
                #expect(unnamed.status == status, "\(type ?? "no type"): \(unnamed.text)")
            }
        }
        try await TestServer.run(["fileUpload": ["fileExtensions": ["*"]], "preserveFileName": true]) { server in
            let kim = try await server.signUp("kim").token
            let page = try await Self.upload(server, "a.html", as: .session(kim))
            #expect(page["name"] == "a.html")
            let type = try await Self.upload(server, "b.txt", type: "nonsense", as: .session(kim))
            #expect(type.error == "Invalid Content-Type.")
        }
    }

    @Test("Accepts the JavaScript SDK's base64 uploads, with credentials and metadata in the body")
    func base64() async throws {
        try await TestServer.run(["javascriptKey": "js"]) { server in
            let kim = try await server.signUp("kim").token
            func post(_ text: String) async throws -> TestAnswer {
                try await server.send("POST", "/files/note", bytes: Array(text.utf8), as: .nobody)
            }
            let answer = try await post(
                #"""
                {"base64":"aGVsbG8=","fileData":{"metadata":{"a":1},"tags":{"t":"x"}},"_ContentType":"text/plain",
                "_ApplicationId":"testApp","_JavaScriptKey":"js","_SessionToken":"\#(kim)","_ClientVersion":"js5"}
                """#)
            #expect(answer.status == 201)
            let name = try answer.string("name")
            #expect(name.hasSuffix("_note.txt"))
            let file = try await server.send("GET", "/files/testApp/\(name)", as: .nobody)
            #expect(file.text == "hello")
            let metadata = try await server.send("GET", "/files/testApp/metadata/\(name)", as: .nobody)
            #expect(metadata.text == #"{"metadata":{"a":1}}"#)
            for wrong in [
                "not json", "{}", "[]", #"{"_ApplicationId":"testApp","_JavaScriptKey":"js","base64":5}"#,
            ] {
                let refused = try await post(wrong)
                #expect(refused.status == 403)
            }
            let refused = try await post(
                #"{"_ApplicationId":"testApp","_JavaScriptKey":"js","_SessionToken":"\#(kim)"}"#)
            #expect(refused.error == "Invalid file upload.")
        }
    }

    @Test("fileDownload can deny public and anonymous downloads; public downloads ignore wrong keys")
    func downloads() async throws {
        let closed: JSONObject = ["fileDownload": ["enableForPublic": false, "enableForAnonymousUser": false]]
        try await TestServer.run { server in
            let name = try await Self.upload(server, "f.txt").string("name")
            let wrongKey = ["X-Parse-Application-Id": TestServer.applicationID, "X-Parse-REST-API-Key": "wrong"]
            for path in ["/files/testApp/\(name)", "/files/testApp/metadata/\(name)"] {
                let open = try await server.send("GET", path, as: .nobody, headers: wrongKey)
                #expect(open.status == 200)
            }
        }
        try await TestServer.run(closed) { server in
            let name = try await Self.upload(server, "f.txt").string("name")
            let callers = try await Self.callers(server)
            for path in ["/files/testApp/\(name)", "/files/testApp/metadata/\(name)"] {
                for (caller, group) in callers + [(.nobody, "public")] {
                    let answer = try await server.send("GET", path, as: caller)
                    let refused = ["public", "anonymous user"].contains(group)
                    #expect(answer.status == (refused ? 400 : 200))
                    #expect(answer.code == (refused ? 119 : nil))
                    #expect(answer.error == (refused ? "File download by \(group ?? "") is disabled." : nil))
                }
                let wrong = try await server.send("GET", path, as: .session("r:wrong"))
                #expect(wrong.code == 209)
            }
        }
    }

    private struct Unknown: Error {}

    @Test("beforeFindFile gets the IP address and headers of a caller without keys")
    func facts() async throws {
        let cloud = Cloud()
        cloud.beforeFindFile { request in
            guard request.details.ip == "127.0.0.1", request.details.headers["x-country"] == "ch" else {
                throw Unknown()
            }
        }
        var extensions = ServerExtensions()
        extensions.cloudHosts = [SwiftHost(cloud, logger: TestServer.quietLogger)]
        try await TestServer.run(extensions: extensions) { server in
            let name = try await Self.upload(server, "g.txt").string("name")
            let path = "/files/\(TestServer.applicationID)/\(name)"
            for country in ["ch", "de"] {
                let answer = try await server.send("GET", path, as: .nobody, headers: ["X-Country": country])
                #expect((answer.status == 200) == (country == "ch"), "\(country): \(answer.text)")
            }
        }
    }
}
