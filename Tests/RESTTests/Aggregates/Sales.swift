import JSON
import TestSupport

/// The class `Sale`, the sample data of aggregations.
enum Sales {
    /// Creates four sales in two shops.
    static func make(_ server: TestServer) async throws -> (shops: [String], first: String) {
        let shops = [
            try await server.create("Shop", ["city": "Bonn"]), try await server.create("Shop", ["city": "Ulm"]),
        ]
        let rows: [JSONObject] = [
            [
                "item": "apple", "price": 2, "count": 10, "at": .date("2020-01-05T10:20:30.400Z"), "tags": ["x", "y"],
                "nested": ["k": 1, "deep": ["v": "q"]], "shop": .pointer("Shop", shops[0]), "ok": true,
            ],
            [
                "item": "pear", "price": 3.5, "count": 4, "at": .date("2020-02-06T11:21:31.500Z"), "tags": ["y"],
                "nested": ["k": 2], "shop": .pointer("Shop", shops[0]), "ok": false,
            ],
            [
                "item": "plum", "price": 1, "count": 4, "at": .date("2021-12-31T23:59:59.999Z"), "tags": [],
                "nested": ["k": 3], "shop": .pointer("Shop", shops[1]), "ok": true,
            ],
            ["item": "fig", "count": 1],
        ]
        var ids: [String] = []
        for row in rows { ids.append(try await server.create("Sale", row)) }
        return (shops, ids[0])
    }

    static func aggregate(_ server: TestServer, _ pipeline: JSONValue, _ className: String = "Sale")
        async throws
        -> TestAnswer
    {
        try await server.send("POST", "/aggregate/\(className)", ["_method": "GET", "pipeline": pipeline], as: .master)
    }
}
