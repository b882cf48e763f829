import ParseModel

/// The option `routeAllowList`: routes that are not on it are for the master and maintenance keys alone.
extension ParseRoutes {
    /// Refuses a client's call of a route that is not on the list.
    ///
    /// - Parameters:
    ///   - method: The name of the method, for the log.
    ///   - components: The decoded path, without empty components.
    /// - Throws: 119.
    func checkAllowed(_ method: String, _ components: [String], _ access: Access) throws(ParseError) {
        guard let list = configuration.routeAllowList, access == .client else { return }
        let path = Self.listedPath(components)
        guard !list.contains(path) else { return }
        throw .denied(
            ParseError.operationForbidden, "Route not allowed by routeAllowList: \(method.uppercased()) \(path)")
    }

    private static let mixedCaseNames = Dictionary(
        uniqueKeysWithValues: [
            "loginAs", "requestPasswordReset", "serverInfo", "upgradeToRevocableSession", "verificationEmailRequest",
            "verifyPassword",
        ].map { ($0.lowercased(), $0) })
    private static let parentsOfNames: Set<String> = ["users", "sessions", "hooks", "cloud_code"]
    private static let secondNames: Set<String> = ["me", "functions", "triggers", "jobs"]

    /// A path as lists write it. Routes are found whatever the case of their names, and no spelling of a route may slip
    /// past a list.
    private static func listedPath(_ components: [String]) -> String {
        var components = components
        guard let first = components.first?.lowercased() else { return "" }
        components[0] = mixedCaseNames[first] ?? first
        if components.count > 1, parentsOfNames.contains(first), secondNames.contains(components[1].lowercased()) {
            components[1] = components[1].lowercased()
        }
        return components.joined(separator: "/")
    }
}
