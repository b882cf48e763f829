import JSON
import TestSupport
import Testing

/// Live-query triggers in JavaScript, with the SDK's objects.
@Suite struct LiveQueryTriggerTests {
    private static let options: JSONObject = [
        "liveQuery": ["classNames": ["Note", "Free"]], "startLiveQueryServer": true,
    ]

    @Test("A live-query trigger can replace the object with one of another class")
    func otherClass() async throws {
        let code = """
            Parse.Cloud.afterLiveQueryEvent('Note', request => {
              const other = new Parse.Object('Summary');
              other.id = request.object.id;
              other.set('text', 'short');
              request.object = other;
            });
            """
        try await CloudApp.serve(["main.js": code], Self.options) { server, _ in
            try await server.liveQuery { client in
                try await client.connect()
                try await client.subscribe(1, "Note")
                let id = try await server.create("Note", ["text": "long"])
                let object = try await client.next()["object"]
                #expect(object?["className"] == "Summary" && object?["text"] == "short", "\(object?.text ?? "")")
                #expect(object?["objectId"] == .string(id))
            }
        }
    }

    @Test("Triggers add includes to subscriptions, and find triggers change the included objects")
    func includes() async throws {
        let code = """
            Parse.Cloud.beforeSubscribe('Note', request => { request.query.include('author'); });
            Parse.Cloud.afterLiveQueryEvent('Note', request => {
              request.object.set('seen', request.object.get('author').get('name') ?? 'pointer');
            });
            Parse.Cloud.afterFind('Author', request => {
              if (request.objects.some(author => author.get('name') === 'fail')) throw 'Not now.';
              for (const author of request.objects) author.set('name', `${author.get('name')}, shown`);
              return request.objects;
            });
            """
        try await CloudApp.serve(["main.js": code], Self.options) { server, _ in
            try await server.liveQuery { client in
                try await client.connect()
                try await client.subscribe(1, "Note")
                for name in ["Ann", "fail"] {
                    let id = try await server.create("Author", ["name": .string(name)])
                    let pointer: JSONValue = ["__type": "Pointer", "className": "Author", "objectId": .string(id)]
                    _ = try await server.create("Note", ["author": pointer])
                    let object = try await client.next()["object"]
                    #expect(object?["seen"] == "pointer", "\(object?.text ?? "")")
                    if name == "fail" {
                        #expect(object?["author"] == pointer)
                    } else {
                        #expect(object?["author"]?["__type"] == "Object")
                        #expect(object?["author"]?["name"] == "Ann, shown")
                    }
                }
            }
        }
    }

    @Test("Triggers reject connections, change and reject subscriptions, and change and suppress events")
    func triggers() async throws {
        let code = """
            Parse.Cloud.beforeConnect(request => {
              if (request.event !== 'connect') throw new Error('no event');
              if (request.installationId === 'bad') throw new Parse.Error(1337, 'Not you.');
            });
            Parse.Cloud.beforeSubscribe('Note', request => {
              if (!request.user) throw 'Log in first.';
              request.query.equalTo('owner', request.user);
            });
            Parse.Cloud.afterLiveQueryEvent('Note', request => {
              if (request.object.get('text') === 'hidden') { request.sendEvent = false; return; }
              if (request.object.get('text') === 'fail') throw new Parse.Error(1338, 'Failed.');
              request.object.set('text', `${request.event}: ${request.object.get('text')}`);
              if (request.original) request.original.set('text', 'before');
            });
            Parse.Cloud.beforeSubscribe('Free', () => {}, { requireUser: true });
            """
        try await CloudApp.serve(["main.js": code], Self.options) { server, _ in
            let ann = try await server.signUp("ann")
            let bob = try await server.signUp("bob")
            try await server.liveQuery { client in
                try await client.send([
                    "op": "connect", "applicationId": .string(TestServer.applicationID), "installationId": "bad",
                ])
                let refused = try await client.next()
                #expect(refused["code"] == 1337 && refused["error"] == "Not you." && refused["reconnect"] == false)
                #expect(refused["clientId"] == nil)
                // Without a client id, all messages except `connect` are rejected.
                try await client.send(["op": "unsubscribe", "requestId": 1])
                #expect(try await client.next()["code"] == 2)
                try await client.connect()
                let nobody = try await client.subscribe(1, "Note")
                #expect(nobody["code"] == 141 && nobody["error"] == "Log in first." && nobody["requestId"] == 1)
                #expect(try await client.subscribe(1, "Free")["code"] == 142)
                #expect(try await client.subscribe(2, "Free", sessionToken: ann.token)["op"] == "subscribed")
                try await client.subscribe(3, "Note", ["where": ["open": true]], sessionToken: ann.token)
                func pointer(_ id: String) -> JSONValue {
                    ["__type": "Pointer", "className": "_User", "objectId": .string(id)]
                }
                for (text, owner) in [
                    ("other", bob.id), ("hidden", ann.id), ("fail", ann.id), ("mine", ann.id),
                ] {
                    let id = try await server.create(
                        "Note", ["text": .string(text), "open": true, "owner": pointer(owner)])
                    guard text == "mine" else { continue }
                    _ = try await server.send("PUT", "/classes/Note/\(id)", ["more": 1]).succeeded()
                }
                let told = try await client.next(3)
                #expect(told[0]["code"] == 1338 && told[0]["requestId"] == 3)
                #expect(told[1]["op"] == "create" && told[1]["object"]?["text"] == "create: mine")
                #expect(told[1]["object"]?["className"] == "Note" && told[1]["object"]?["__type"] == "Object")
                #expect(told[2]["op"] == "update" && told[2]["object"]?["text"] == "update: mine")
                #expect(told[2]["original"]?["text"] == "before" && told[2]["object"]?["more"] == 1)
            }
        }
    }
}
