import Foundation
import JSON
import TestSupport
import TestTools
import Testing

/// The examples of docs/accounts.md for providers.
@Suite struct ProviderExampleTests {
    /// The objects of JSON that a document shows.
    private static func examples() throws -> [JSONObject] {
        let text = try String(contentsOfFile: Checkout.path("docs/accounts.md"), encoding: .utf8)
        return text.components(separatedBy: "```json\n").dropFirst().compactMap { part in
            let block = part.components(separatedBy: "```")[0]
            return (try? JSONValue(parsing: Array(block.utf8)))?.objectValue
        }
    }

    @Test("Every example starts a server, which has the provider and refuses what proves nothing")
    func start() async throws {
        let examples = try Self.examples().compactMap { $0["auth"]?.objectValue }
        let names = Set(examples.flatMap { $0.keys.texts })
        #expect(
            names.isSuperset(of: [
                "apple", "google", "facebook", "github", "twitter", "gcenter", "keycloak", "school", "club",
            ]), "\(names)")
        let all = examples.reduce(into: JSONObject()) { $0.merge($1) { $1 } }
        try await TestServer.run(["auth": .object(all)]) { server in
            for name in all.keys where name != "mfa" {
                let body: JSONValue = ["authData": .object([name: ["id": "1"]])]
                let answer = try await server.send("POST", "/users", body)
                #expect([101, 142].contains(answer.code), "\(name): \(answer.text)")
            }
        }
    }
}
