import JSON
import TestSupport
import Testing

@Suite("Triggers in JavaScript")
struct TriggerScenarioTests {
    @Test("Triggers change and reject saves, results, files and config in ways that only JavaScript has")
    func triggers() async throws {
        try await CloudApp.serve(try CloudApp.files("scenarios")) { server, _ in
            try await Self.changes(server)
            try await Self.originals(server)
            try await Self.contexts(server)
            try await Self.refusals(server)
            try await Self.deletionsAndFinds(server)
            try await Self.uploads(server)
            try await Self.config(server)
        }
    }

    @Test("afterSave sees a field that beforeSave removed as undefined, not as null")
    func takenAway() async throws {
        let code = """
            Parse.Cloud.beforeSave('Unset', request => { request.object.unset('a'); });
            Parse.Cloud.beforeSave('Reverted', request => { request.object.revert('a'); });
            const tell = request => {
              const { object, original } = request;
              object.set('told', [typeof object.get('a'), 'a' in object.attributes, typeof original?.get('a')].join());
            };
            Parse.Cloud.afterSave('Unset', tell);
            Parse.Cloud.afterSave('Reverted', tell);
            """
        try await CloudApp.serve(["main.js": code]) { server, _ in
            for name in ["Unset", "Reverted"] {
                // First with a class that lacks the field, then with one that has it.
                for _ in 0..<2 {
                    let made = try await Self.create(server, name, ["a": 1])
                    #expect(made["told"] == "undefined,false,undefined", "\(name): \(made.text)")
                    _ = try await server.create(name, ["a": 1])
                }
            }
        }
    }

    @Test("redirectClassNameForKey runs the find triggers of the class it redirects to")
    func redirected() async throws {
        let code = """
            Parse.Cloud.beforeFind('Vault', () => {}, { requireMaster: true });
            Parse.Cloud.beforeFind('Shelf', request => { request.query.limit(1); });
            """
        try await CloudApp.serve(["main.js": code]) { server, _ in
            for name in ["Vault", "Shelf"] {
                let ids = [try await server.create(name, ["n": 1]), try await server.create(name, ["n": 2])]
                let pointer: JSONValue = ["__type": "Pointer", "className": .string(name), "objectId": .string(ids[0])]
                _ = try await server.create("Door", [Name("to\(name)"): pointer])
            }
            let path = "/classes/Door?redirectClassNameForKey="
            #expect(try await server.send("GET", path + "toVault").code == 142)
            #expect(try await server.send("GET", path + "toVault", as: .master)["results"]?.arrayValue?.count == 2)
            #expect(try await server.send("GET", path + "toShelf")["results"]?.arrayValue?.count == 1)
            // The same applies to a subquery.
            let inner: JSONValue = ["className": "Door", "where": [:], "redirectClassNameForKey": "toVault"]
            let find = try await server.send(
                "POST", "/classes/Door", ["_method": "GET", "where": ["toVault": ["$inQuery": inner]]])
            #expect(find.code == 142, "\(find.text)")
        }
    }

    private static func create(_ server: TestServer, _ name: String, _ fields: JSONValue) async throws -> TestAnswer {
        let answer = try await server.send("POST", "/classes/\(name)", fields).succeeded()
        #expect(answer.status == 201)
        return answer
    }

    private static func stored(_ server: TestServer, _ name: String, _ answer: TestAnswer) async throws -> TestAnswer {
        try await server.send("GET", "/classes/\(name)/\(answer.string("objectId"))", as: .master)
    }

    private static func changes(_ server: TestServer) async throws {
        // SDKs other than JavaScript's would store the operation as the field's value.
        for (version, isTold) in [("js5.3.0", true), ("js1.8.5", false), ("i1.19.2", false), ("a1.17.3", false)] {
            let answer = try await server.send(
                "POST", "/classes/Unset", ["a": 1], headers: ["X-Parse-Client-Version": version]
            ).succeeded()
            #expect((answer["a"] != nil) == isTold, "\(version): \(answer.text)")
        }
        let list = try await create(server, "List", ["list": ["sent"]])
        #expect(list["list"] == ["sent", "pushed"], "\(list.text)")
        let reverted = try await create(server, "Revert", ["a": 1, "b": 1])
        #expect(try await stored(server, "Revert", reverted)["a"] == nil)
        #expect(try await stored(server, "Revert", reverted)["b"] == 1)
        let pointing = try await create(server, "Pointing", [:])
        #expect(pointing["other"]?["__type"] == "Pointer", "\(pointing.text)")
        let named = try await server.signUp("named")
        let record = try await server.send("GET", "/users/\(named.id)", as: .master)
        #expect(record["sawPassword"] == "secret", "\(record.text)")
    }

    private static func originals(_ server: TestServer) async throws {
        let created = try await create(server, "Original", ["a": 1])
        let expected: JSONValue = ["old": .null, "new": 1, "dirty": ["a"], "isNew": true, "n": .null]
        for (name, value) in expected.objectValue ?? [:] { #expect(created[name.text] == value, "\(created.text)") }
        #expect(created["existed"] == false)
        let id = try created.string("id")
        let updated = try await server.send(
            "PUT", "/classes/Original/\(id)", ["a": 2, "n": .increment(3)]
        ).succeeded()
        #expect(updated["old"] == 1 && updated["new"] == 2 && updated["isNew"] == false, "\(updated.text)")
        #expect(updated["n"] == 3 && updated["existed"] == true)
        #expect(updated["dirty"] == ["a", "n"])
    }

    private static func contexts(_ server: TestServer) async throws {
        let sent = ["X-Parse-Cloud-Context": #"{"a":1}"#]
        let answer = try await server.send("POST", "/classes/Context", [:], headers: sent)
        #expect(answer["a"] == 1 && answer["k"] == "from beforeSave", "\(answer.text)")
    }

    private static func refusals(_ server: TestServer) async throws {
        _ = try await server.send("POST", "/schemas/Typed", ["fields": ["a": ["type": "Number"]]], as: .master)
        #expect(try await server.send("POST", "/classes/Typed", ["a": "text"]).code == 111)
        #expect(try await server.logs("Typed was called"))
        let recursive = try await server.send("POST", "/classes/Recursive", [:])
        #expect(recursive.code == 141 && recursive.error == "Trigger recursion is too deep.", "\(recursive.text)")
        #expect(try await server.find("Recursive", as: .master).results.isEmpty)
    }

    private static func deletionsAndFinds(_ server: TestServer) async throws {
        for (name, error) in [("Failing", "after the save"), ("Mourned", "gone all the same")] {
            let id = try await server.create(name, [:])
            _ = try await server.send("DELETE", "/classes/\(name)/\(id)").succeeded()
            #expect(try await server.logs(error))
        }
        let made = try await server.find("Made")
        #expect(made.results.first?["objectId"] == "made" && made.results.first?["seen"] == true, "\(made.text)")
    }

    private static func uploads(_ server: TestServer) async throws {
        func upload(_ name: String) async throws -> TestAnswer {
            try await server.send(
                "POST", "/files/\(name)", bytes: Array("sent".utf8), as: .master,
                headers: ["Content-Type": "text/plain"])
        }
        let refused = try await upload("bad.txt")
        #expect(refused.code == 130 && refused.error == "no such files", "\(refused.text)")
        let replaced = try await upload("renamed.txt")
        #expect(try replaced.string("name").hasSuffix("other.txt"), "\(replaced.text)")
        let path = "/files/\(TestServer.applicationID)/\(try replaced.string("name"))"
        #expect(try await server.send("GET", path).text == "other")
        let kept = try await upload("kept.txt")
        #expect(try kept.string("name").hasSuffix("kept.txt"), "\(kept.text)")
    }

    private static func config(_ server: TestServer) async throws {
        func save(_ motto: String) async throws -> TestAnswer {
            try await server.send("PUT", "/config", ["params": ["motto": .string(motto)]], as: .master)
        }
        let bad = try await save("bad")
        #expect(bad.code == 141 && bad.error == "not that one", "\(bad.text)")
        #expect(try await server.call("config")["result"] == .null)
        #expect(try await save("good")["result"] == true)
        #expect(try await server.call("config")["result"] == "good")
    }
}
