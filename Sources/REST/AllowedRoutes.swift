import Encoding
import HTTP
import ParseModel
import Rules

/// The option `routeAllowList`: routes that are not on it are for the master and maintenance keys alone.
extension ParseRoutes {
    /// Refuses a client's call of a route that is not on the list.
    ///
    /// - Parameters:
    ///   - method: The name of the method, for the log.
    ///   - components: The decoded path, without empty components.
    /// - Throws: 119.
    func checkAllowed(_ method: String, _ components: [String], _ power: Caller.Power) throws(ParseError) {
        guard let list = configuration.routeAllowList, power == .client else { return }
        let path = RouteTable.canonical(components).joined(separator: "/")
        guard !list.contains(path) else { return }
        throw .denied(
            ParseError.operationForbidden, "Route not allowed by routeAllowList: \(method.asciiUppercased) \(path)")
    }
}
