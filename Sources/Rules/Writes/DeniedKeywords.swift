import JSON
import ParseModel
import ServerConfiguration

extension KeywordRules {
    /// Refuses words that the deployment does not want in data, at any depth.
    ///
    /// - Throws: 105.
    package func check(_ body: JSONObject) throws(ParseError) {
        if !isEmpty { try check(.object(body)) }
    }

    private func check(_ value: JSONValue) throws(ParseError) {
        switch value {
        case .object(let object):
            for (key, member) in object { try check(key.text, member) }
        case .array(let list):
            for (index, element) in list.enumerated() { try check(String(index), element) }
        default: break
        }
    }

    private func check(_ key: String, _ member: JSONValue) throws(ParseError) {
        if let rule = broken(byKey: key, value: member) {
            throw ParseError(ParseError.invalidKeyName, "Prohibited keyword in request data: \(rule.text).")
        }
        try check(member)
    }
}
