import JSON
import TestSupport
import Testing

@Suite("Triggers in JavaScript")
struct TriggerScenarioTests {
    @Test("Save triggers change and reject saves, and responses contain their changes")
    func saves() async throws {
        try await CloudApp.serve(try CloudApp.files("scenarios")) { server, _ in
            try await Self.changes(server)
            try await Self.originals(server)
            try await Self.contexts(server)
            try await Self.afterSaves(server)
            try await Self.refusals(server)
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
        let set = try await create(server, "Set", ["a": 1])
        #expect(set["b"] == 2 && set["a"] == nil, "\(set.text)")
        let same = try await create(server, "Same", ["a": 1])
        #expect(same.json.objectValue.map { Set($0.keys.map(\.text)) } == ["objectId", "createdAt"], "\(same.text)")
        let unset = try await create(server, "Unset", ["a": 1])
        #expect(unset["a"]?["__op"] == "Delete", "\(unset.text)")
        #expect(try await stored(server, "Unset", unset)["a"] == nil)
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
        let constant = try await create(server, "Constant", ["x": 9])
        let id = try constant.string("objectId")
        #expect(constant["x"] == 5, "\(constant.text)")
        let kept = try await server.send("PUT", "/classes/Constant/\(id)", ["x": 9])
        #expect(kept["x"] == 5, "\(kept.text)")
        #expect(try await stored(server, "Constant", constant)["x"] == 5)
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
        let bad = try await server.send("POST", "/classes/Context", [:], headers: ["X-Parse-Cloud-Context": "1"])
        #expect(bad.code == 107 && bad.error == "Invalid object for context.")
    }

    private static func afterSaves(_ server: TestServer) async throws {
        let failing = try await create(server, "Failing", ["a": 1])
        #expect(failing["objectId"] != nil)
        #expect(try await server.logs("after the save"))
        let json = try await server.send("POST", "/classes/Json", ["a": 1])
        #expect(json.status == 201 && same(json.json, ["x": 1]), "\(json.text)")
        let fields: JSONValue = ["className": "Default", "fields": ["d": ["type": "String", "defaultValue": "late"]]]
        _ = try await server.send("POST", "/schemas/Default", fields, as: .master).succeeded()
        let defaulted = try await create(server, "Default", [:])
        #expect(defaulted["d"] == "late", "\(defaulted.text)")
        #expect(try await server.logs("default: null"))
    }

    private static func refusals(_ server: TestServer) async throws {
        let null = try await server.send("POST", "/classes/Null", ["a": 1])
        #expect(null.code == 141 && null.error == "Script failed. Unknown error.", "\(null.text)")
        #expect(try await server.send("GET", "/schemas/Null", as: .master).status == 400)
        let closed: JSONValue = ["classLevelPermissions": ["update": [:], "create": ["*": true], "find": ["*": true]]]
        _ = try await server.send("POST", "/schemas/Forbidden", closed, as: .master).succeeded()
        let id = try await server.send("POST", "/classes/Forbidden", ["a": 1], as: .master).string("objectId")
        let before = try await server.log().filter { $0["message"] == "Forbidden was called" }.count
        #expect(try await server.send("PUT", "/classes/Forbidden/\(id)", ["a": 2]).code == 119)
        #expect(try await server.log().filter { $0["message"] == "Forbidden was called" }.count == before)
        _ = try await server.send("POST", "/schemas/Typed", ["fields": ["a": ["type": "Number"]]], as: .master)
        #expect(try await server.send("POST", "/classes/Typed", ["a": "text"]).code == 111)
        #expect(try await server.logs("Typed was called"))
        let recursive = try await server.send("POST", "/classes/Recursive", [:])
        #expect(recursive.code == 141 && recursive.error == "Trigger recursion is too deep.", "\(recursive.text)")
        #expect(try await server.find("Recursive", as: .master).results.isEmpty)
    }

    @Test("Increments in a trigger are atomic: concurrent saves lose none")
    func increments() async throws {
        try await CloudApp.serve(try CloudApp.files("scenarios")) { server, _ in
            let id = try await server.create("Increment", ["n": 0])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        let answer = try await server.send(
                            "PUT", "/classes/Increment/\(id)", ["a": .number(Double(number))])
                        #expect(answer["n"]?.numberValue != nil, "\(answer.text)")
                    }
                }
                try await group.waitForAll()
            }
            // One more for the creation.
            #expect(try await server.send("GET", "/classes/Increment/\(id)")["n"] == 21)
        }
    }

    @Test("Delete triggers reject deletions or run after them; find triggers limit, replace and change results")
    func deletionsAndFinds() async throws {
        try await CloudApp.serve(try CloudApp.files("scenarios")) { server, _ in
            let kept = try await server.create("Kept", [:])
            let refused = try await server.send("DELETE", "/classes/Kept/\(kept)")
            #expect(refused.code == 141 && refused.error == "kept", "\(refused.text)")
            #expect(try await server.find("Kept").results.count == 1)
            let mourned = try await server.create("Mourned", [:])
            #expect(try await server.send("DELETE", "/classes/Mourned/\(mourned)").json == [:])
            #expect(try await server.logs("gone all the same"))
            #expect(try await server.find("Mourned").results.isEmpty)
            let sought = try await server.create("Sought", [:])
            let hidden = try await server.send("DELETE", "/classes/Sought/\(sought)")
            #expect(hidden.error == "found before it is deleted", "\(hidden.text)")
            for name in ["Limited", "Hidden", "Counted", "Marked"] {
                for number in 1...3 { _ = try await server.create(name, ["a": .number(Double(number))]) }
            }
            #expect(try await server.find("Limited").results.count == 1)
            #expect(try await server.find("Hidden").results.isEmpty)
            let made = try await server.find("Made")
            #expect(made.results.first?["objectId"] == "made" && made.results.first?["seen"] == true, "\(made.text)")
            let marked = try await server.find("Marked", ["order": "a"])
            #expect(marked.results.map { $0["mark"] } == [2, 4, 6], "\(marked.text)")
            #expect(try await server.find("Counted", ["count": 1, "limit": 0])["count"] == 3)
            #expect(try await server.logs("Counted true"))
            let included = try await server.create("Included", [:])
            _ = try await server.create("Including", ["b": .pointer("Included", included)])
            _ = try await server.find("Including", ["include": "b"])
            #expect(try await server.logs("Included "))
        }
    }

    @Test("beforeSave sees a user's password, and beforeLogin rejects a log-in before it creates a session")
    func users() async throws {
        try await CloudApp.serve(try CloudApp.files("scenarios")) { server, _ in
            let named = try await server.signUp("named")
            let record = try await server.send("GET", "/users/\(named.id)", as: .master)
            #expect(record["sawPassword"] == "secret", "\(record.text)")
            let barred = try await server.signUp("barred")
            func logIn(_ name: String) async throws -> TestAnswer {
                try await server.send("POST", "/login", ["username": .string(name), "password": "secret"])
            }
            let refused = try await logIn("barred")
            #expect(refused.error == "barred", "\(refused.text)")
            let sessions: JSONObject = ["where": ["user": .pointer("_User", barred.id)]]
            #expect(try await server.find("_Session", sessions, as: .master).results.count == 1)
            let late = try await server.signUp("late")
            #expect(try await logIn("late").error == "too late")
            let lateSessions: JSONObject = ["where": ["user": .pointer("_User", late.id)]]
            #expect(try await server.find("_Session", lateSessions, as: .master).results.count == 2)
        }
    }

    @Test("File and config triggers reject saves, and file triggers can replace the uploaded file")
    func filesAndConfig() async throws {
        try await CloudApp.serve(try CloudApp.files("scenarios")) { server, _ in
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
}
