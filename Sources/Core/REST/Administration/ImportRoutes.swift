import HTTP
import JSON
import Operations
import ParseModel
import Rules

/// `/import_data/<Class>` and `/import_relation_data/<Class>/<relation>`, used by dashboards and migration tools.
extension RouteTable {
    static let imports = [
        Route(.post, "import_data/:class", [.master, .form]) { routes, call in
            try await routes.importRows(call[0], relation: nil, call.envelope, call.context)
        },
        Route(.post, "import_relation_data/:class/:relation", [.master, .form]) { routes, call in
            try await routes.importRows(call[0], relation: call[1], call.envelope, call.context)
        },
    ]
}

extension ParseRoutes {
    /// Imports the rows of an uploaded file or of the body.
    ///
    /// - Parameter relation: The relation to add the rows to, or nil to create objects of the class.
    /// - Returns: `{"response":[…]}` with one result per row, in order.
    /// - Throws: 107 if the file isn't valid JSON or the request has no list of rows, or the error of the import.
    func importRows(_ className: String, relation: String?, _ envelope: Envelope, _ context: RequestContext)
        async throws -> Reply
    {
        let rows = try Self.rows(of: envelope)
        let outcomes =
            if let relation {
                try await backend.imports.relation(relation, of: className, rows, context)
            } else {
                try await backend.imports.objects(className, rows, context)
            }
        var writer = JSONWriter(capacity: 16 + outcomes.count * 64)
        writer.raw("{\"response\":[")
        for (index, outcome) in outcomes.enumerated() {
            if index > 0 { writer.byte(UInt8(ascii: ",")) }
            switch outcome {
            case .success(let result): writer.object(Self.answer(result))
            case .failure(let error): writer.raw(try errors.element(for: error, requestID: envelope.id))
            }
        }
        writer.raw("]}")
        return .json(writer.bytes)
    }

    private static func answer(_ result: WriteResult) -> JSONObject {
        var answer: JSONObject = ["response": .object(result.body)]
        if let location = result.location {
            answer["status"] = .number(Double(result.status))
            answer["location"] = .string(location)
        }
        return answer
    }

    private static func rows(of envelope: Envelope) throws(ParseError) -> [JSONValue] {
        let content: JSONValue
        let text = envelope.body["importFile"]?.stringValue
        if let file = envelope.uploads["importFile"]?.bytes ?? text.map({ Array($0.utf8) }) {
            do {
                content = try JSONValue(
                    parsing: JSONBody.withoutByteOrderMark(file), maximumDepth: JSONBody.maximumDepth)
            } catch {
                throw ParseError(ParseError.invalidJSON, "Failed to parse JSON based on the file sent")
            }
        } else {
            content = .object(envelope.body)
        }
        if let list = content.arrayValue ?? content["results"]?.arrayValue ?? content["rows"]?.arrayValue {
            return list
        }
        // An array in the body is parsed into an object with the indices as keys.
        guard let list = content.objectValue, list["0"] != nil,
            list.keys.enumerated().allSatisfy({ $0.element == Name(String($0.offset)) })
        else { throw ParseError(ParseError.invalidJSON, "No data to import") }
        return Array(list.values)
    }
}
