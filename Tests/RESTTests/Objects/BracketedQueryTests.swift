import JSON
import TestSupport
import Testing

@Suite struct BracketedQueryTests {
    @Test("Parses bracketed query parameters into nested conditions and rejects malformed ones with 400")
    func conditions() async throws {
        try await TestServer.run { server in
            for (name, city) in [("ann", "Bern"), ("ben", "Bonn"), ("cid", "Ulm")] {
                _ = try await server.create(
                    "Person",
                    [
                        "name": .string(name), "city": .string(city), "home": ["city": .string(city)],
                        "tags": [.string(name)],
                    ])
            }
            for (query, found) in [
                ("where[name][$regex]=n", "ann ben"), ("where%5Bname%5D%5B%24regex%5D=%5Ea", "ann"),
                ("where[city]=Bern", "ann"), ("where[city][$in][]=Bern&where[city][$in][]=Ulm", "ann cid"),
                ("where[city][$in][1]=Bern&where[city][$in][0]=Ulm&order=name", "ann cid"),
                ("where[$or][0][name]=ann&where[$or][1][city]=Ulm", "ann cid"), ("where[home.city]=Bonn", "ben"),
                ("where[tags][$in]=[]", nil), ("where[name]=a&where[name]=b", ""), ("where[]=a", nil),
                ("where[name][$gt]=b&limit=1&order=-name", "cid"), ("keys[]=name&keys[]=city", "ann ben cid"),
                ("where[a][b][c][d][e][f][g]=1", ""), ("where[name=ann", nil),
            ] as [(String, String?)] {
                let answer = try await server.send("GET", "/classes/Person?" + query)
                if let found {
                    let names = try answer.succeeded().results.compactMap { $0["name"]?.stringValue }
                    #expect(names.sorted().joined(separator: " ") == found, "\(query): \(answer.text)")
                } else {
                    #expect(answer.status == 400, "\(query): \(answer.text)")
                }
            }
        }
    }

    @Test("Rejects log-ins with brackets in the username or password parameter")
    func logIn() async throws {
        try await TestServer.run { server in
            _ = try await server.signUp("kim")
            for query in [
                "username[$regex]=.&password=secret", "username=kim&password[$ne]=x", "username[]=kim&password=secret",
                "username=kim&password[]=secret",
            ] {
                let answer = try await server.send("GET", "/login?" + query)
                #expect(answer.status >= 400 && answer.status < 500, "\(query): \(answer.text)")
                #expect(answer["sessionToken"] == nil)
            }
        }
    }
}
