import JSON
import TestSupport
import Testing

extension CloudScenario {
    static let functions: [CloudScenario] = [
        // Returns its parameters.
        CloudScenario(1, "echo") { server async throws in
            let answer = try await server.send("POST", "/functions/echo", ["a": 1])
            #expect(answer.status == 200)
            #expect(answer.json == ["result": ["a": 1]])
        },
        // Returns no value.
        CloudScenario(2, "nothing") { server async throws in
            let answer = try await server.send("POST", "/functions/nothing", [:])
            #expect(answer.status == 200)
            #expect(answer.json == [:])
        },
        // Returns null.
        CloudScenario(3, "null") { server async throws in
            #expect(try await server.send("POST", "/functions/null", [:]).json == ["result": .null])
        },
        // Returns its parameter `d`, a date.
        CloudScenario(4, "date") { server async throws in
            let date = JSONValue.date("2016-05-22T09:00:00.000Z")
            #expect(try await server.send("POST", "/functions/date", ["d": date])["result"] == date)
        },
        // Returns the date 2016-05-22T09:00:00.000Z.
        CloudScenario(5, "dateOut") { server async throws in
            let answer = try await server.send("POST", "/functions/dateOut", [:])
            #expect(answer.json == ["result": .date("2016-05-22T09:00:00.000Z")])
        },
        // Returns a stored object of the class `Note` whose `text` is `x`.
        CloudScenario(6, "objectOut") { server async throws in
            let object = try await server.send("POST", "/functions/objectOut", [:])["result"]
            #expect(object?["__type"] == "Object")
            #expect(object?["className"] == "Note")
            #expect(object?["text"] == "x")
            #expect(object?["objectId"]?.stringValue != nil)
        },
        CloudScenario(8, "unknown") { server async throws in
            let answer = try await server.send("POST", "/functions/nosuch", [:])
            #expect(answer.status == 400)
            #expect(answer.json == ["code": 141, "error": "Invalid function: \"nosuch\""])
        },
        CloudScenario(9, "names of JavaScript") { server async throws in
            for name in ["constructor", "__proto__", "toString", "hasOwnProperty", "Echo", "ECHO"] {
                #expect(try await server.send("POST", "/functions/\(name)", [:]).code == 141, "\(name)")
            }
        },
        // `echo` with a query string.
        CloudScenario(10, "echo") { server async throws in
            let answer = try await server.send("POST", "/functions/echo?a=2", ["a": 1, "b": 3])
            #expect(answer["result"]?["a"] == "2")
            #expect(answer["result"]?["b"] == 3)
        },
        // Fails with the text `no`.
        CloudScenario(11, "failText") { server async throws in
            let answer = try await server.send("POST", "/functions/failText", [:])
            #expect(answer.status == 400)
            #expect(answer.json == ["code": 141, "error": "no"])
        },
        // Fails with the code 101 and the text `gone`.
        CloudScenario(13, "failCode") { server async throws in
            let answer = try await server.send("POST", "/functions/failCode", [:])
            #expect(answer.status == 404)
            #expect(answer.json == ["code": 101, "error": "gone"])
        },
        // Returns `request.context`.
        CloudScenario(37, "context") { server async throws in
            let header = ["X-Parse-Cloud-Context": "{\"a\":1}"]
            let answer = try await server.send("POST", "/functions/context", [:], headers: header)
            #expect(answer["result"] == ["a": 1])
            for bad in ["1", "[1]", "x", "null"] {
                let refused = try await server.send(
                    "POST", "/functions/context", [:], headers: ["X-Parse-Cloud-Context": bad])
                #expect(refused.status == 400)
                #expect(refused.json == ["code": 107, "error": "Invalid object for context."])
            }
        },
        // Returns the caller as `{user: username or null, token, master, installationId, ip, header}`, where `header`
        // is `x-own-header`.
        CloudScenario(0, "caller") { server async throws in
            let kim = try await server.signUp("caller-kim")
            let answer = try await server.send(
                "POST", "/functions/caller", [:], as: .session(kim.token),
                headers: ["X-Parse-Installation-Id": "inst", "X-Own-Header": "own"])
            #expect(answer["result"]?["user"] == "caller-kim")
            #expect(answer["result"]?["token"] == .string(kim.token))
            #expect(answer["result"]?["master"] == false)
            #expect(answer["result"]?["installationId"] == "inst")
            #expect(answer["result"]?["ip"] == "127.0.0.1")
            #expect(answer["result"]?["header"] == "own")
            let master = try await server.send("POST", "/functions/caller", [:], as: .master)
            #expect(master["result"]?["master"] == true)
            #expect(master["result"]?["user"] == .null)
        },
        // The function `dotted.name` returns 2.
        CloudScenario(0, "dotted.name") { server async throws in
            #expect(try await server.send("POST", "/functions/dotted.name", [:])["result"] == 2)
        },
        // `echo` in a batch together with an unknown function.
        CloudScenario(0, "echo") { server async throws in
            let calls: [JSONValue] = ["echo", "nosuch"].map { name in
                ["method": "POST", "path": .string("/parse/functions/\(name)"), "body": ["a": 1]]
            }
            let answer = try await server.send("POST", "/batch", ["requests": .array(calls)])
            #expect(answer.json.arrayValue?[0]["success"] == ["result": ["a": 1]])
            #expect(answer.json.arrayValue?[1]["error"]?["code"] == 141)
        },
    ]
}
