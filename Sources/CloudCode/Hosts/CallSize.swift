import JSON

extension CloudCall {
    /// About how many bytes the call has as a message: what clients and their objects decide about it.
    func measured() -> Int {
        let objects = [params, object, original, changes, query, caller.user, headers, context]
        return objects.reduce(self.objects.reduce(0) { $0 + Self.size(of: $1) }) { $0 + ($1.map(Self.size) ?? 0) }
            // In base64.
            + (file?.bytes?.count ?? 0) * 4 / 3
    }

    private static func size(of object: JSONObject) -> Int {
        object.reduce(2) { $0 + $1.key.utf8.count + 4 + size(of: $1.value) }
    }

    private static func size(of value: JSONValue) -> Int {
        switch value {
        case .null, .bool: 5
        case .number: 8
        case .string(let text): text.utf8.count + 2
        case .array(let list): list.reduce(2) { $0 + 1 + size(of: $1) }
        case .object(let object): size(of: object)
        }
    }
}
