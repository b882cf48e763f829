import JSON
import ServerConfiguration

/// `/security`: checks of security-relevant configuration.
public struct SecurityReport: Sendable, BackendPart {
    let backend: Backend

    private struct Check {
        let title: String
        let isPassed: Bool
        let warning: String
        let solution: String

        var json: JSONValue {
            var object: JSONObject = ["title": .string(title), "state": isPassed ? "success" : "fail"]
            if !isPassed {
                object["warning"] = .string(warning)
                object["solution"] = .string(solution)
            }
            return .object(object)
        }

        /// Returns a check that passes with every configuration.
        static func met(_ title: String) -> Check { Check(title: title, isPassed: true, warning: "", solution: "") }
    }

    /// Returns the report, or nil if `enableCheck` is off.
    public func make() -> JSONObject? {
        guard configuration.security.enableCheck else { return nil }
        let groups = [group("Database", databaseChecks), group("Parse Server Configuration", configurationChecks)]
        let isPassed = groups.allSatisfy { $0["state"] == "success" }
        return [
            "report": [
                "version": "1.0.0", "state": isPassed ? "success" : "fail", "groups": .array(groups),
            ]
        ]
    }

    private func group(_ name: String, _ checks: [Check]) -> JSONValue {
        [
            "name": .string(name), "state": checks.allSatisfy(\.isPassed) ? "success" : "fail",
            "checks": .array(checks.map(\.json)),
        ]
    }

    private var configurationChecks: [Check] {
        let checks = [
            Check(
                title: "Secure master key", isPassed: Self.isStrong(configuration.masterKey),
                warning: "The master key is insecure and vulnerable to brute force attacks.",
                solution: "Use a master key of at least 14 characters with upper and lower case, digits and symbols."),
            Check(
                title: "Security log disabled", isPassed: !configuration.security.enableCheckLog,
                warning: "Security checks in logs may expose vulnerabilities to anyone with access to logs.",
                solution: "Change the configuration to 'security.enableCheckLog: false'."),
            Check(
                title: "Client class creation disabled", isPassed: !configuration.allowClientClassCreation,
                warning: "Attackers are allowed to create new classes without restriction and flood the database.",
                solution: "Change the configuration to 'allowClientClassCreation: false'."),
            Check(
                title: "Users are created without public access", isPassed: configuration.enforcePrivateUsers,
                warning: "Users with public read access are exposed to anyone who knows their object IDs.",
                solution: "Change the configuration to 'enforcePrivateUsers: true'."),
        ]
        return configuration.preset >= 9 ? checks + laterChecks : checks
    }

    private var laterChecks: [Check] {
        let limits = configuration.requestComplexity
        let depths = [limits.includeDepth, limits.includeCount, limits.subqueryDepth]
        return [
            Check(
                title: "Insecure auth adapters disabled", isPassed: !configuration.enableInsecureAuthAdapters,
                warning: "Attackers may log in as other users through providers that trust clients.",
                solution: "Change the configuration to 'enableInsecureAuthAdapters: false'."),
            // Roost has no GraphQL.
            .met("GraphQL public introspection disabled"), .met("GraphQL Playground disabled"),
            Check(
                title: "Master key IP range restricted", isPassed: !Self.admitEverybody(configuration.masterKeyIps),
                warning: "The master key can be used from any address.",
                solution: "Set 'masterKeyIps' to the addresses that need it."),
            Check(
                title: "Public database explain disabled", isPassed: !configuration.databaseOptions.allowPublicExplain,
                warning: "Anyone can read the database's query plans.",
                solution: "Change the configuration to 'databaseOptions.allowPublicExplain: false'."),
            Check(
                title: "Read-only master key IP range restricted",
                isPassed: configuration.readOnlyMasterKey == nil
                    || !Self.admitEverybody(configuration.readOnlyMasterKeyIps),
                warning: "The read-only master key can be used from any address.",
                solution: "Set 'readOnlyMasterKeyIps' to the addresses that need it."),
            Check(
                title: "Request complexity limits enabled", isPassed: depths.allSatisfy { $0 != nil },
                warning: "Clients can send requests of any complexity.",
                solution: "Set 'requestComplexity.includeDepth', 'includeCount' and 'subqueryDepth'."),
            Check(
                title: "Password reset endpoint user enumeration mitigated",
                isPassed: configuration.accountMail.resetPasswordSuccessOnInvalidEmail,
                warning: "Password reset requests reveal which addresses have accounts.",
                solution: "Change the configuration to 'passwordPolicy.resetPasswordSuccessOnInvalidEmail: true'."),
            Check(
                title: "Email verification endpoint user enumeration mitigated",
                isPassed: configuration.accountMail.emailVerifySuccessOnInvalidEmail,
                warning: "Requests for verification emails reveal which addresses have accounts.",
                solution: "Change the configuration to 'emailVerifySuccessOnInvalidEmail: true'."),
            // Roost matches live-query patterns in time linear in the text, so no timeout is needed.
            .met("LiveQuery regex timeout enabled"),
        ]
    }

    /// Whether a list allows all addresses of at least one IP version.
    private static func admitEverybody(_ addresses: [String]) -> Bool {
        (try? AddressList(addresses))?.admitsEverybody ?? false
    }

    private var databaseChecks: [Check] {
        // Without a URI the database is private to the server.
        let password =
            configuration.databaseURI.flatMap { uri in
                uri.split(separator: "@").first?.split(separator: ":").dropFirst(2).first.map(String.init)
            }
        let isPassed = configuration.databaseURI == nil || password.map(Self.isStrong) ?? false
        return [
            Check(
                title: "Secure database password", isPassed: isPassed,
                warning: "The database password is insecure and vulnerable to brute force attacks.",
                solution: "Choose a password of at least 14 characters with upper and lower case, digits and symbols.")
        ]
    }

    private static func isStrong(_ secret: String) -> Bool {
        let kinds = [
            secret.contains(where: \.isLowercase), secret.contains(where: \.isUppercase),
            secret.contains(where: \.isNumber), secret.contains { !$0.isLetter && !$0.isNumber },
        ]
        return secret.count >= 14 && kinds.filter { $0 }.count >= 3
    }
}
