import Encoding
import HTTP

/// All routes of the REST interface. Dispatch, batches, request ids, the allow list, the list in the documents and the
/// tests that walk all routes read it.
///
/// `/health` and `/files` are not among them: the transport answers these before a body is read.
enum RouteTable {
    /// The routes; where two fit, the first counts.
    static let all: [Route] =
        objects + accounts + [batch] + configuration + functions + jobs + schemas + administration + hooks + imports

    /// A route, and what stands in the path where it has parameters.
    typealias Match = (route: Route, arguments: [String])

    /// The route that answers a request; nil when none does.
    ///
    /// - Parameter components: The decoded path below the mount, without empty components.
    static func match(_ method: Method, _ components: [String]) -> Match? {
        for route in candidates(components) where route.method == method {
            if let arguments = route.arguments(of: components) { return (route, arguments) }
        }
        return nil
    }

    /// A path with the names of routes as parse-server writes them, so that no spelling of a route slips past a list.
    static func canonical(_ components: [String]) -> [String] {
        let candidates = candidates(components)
        if let route = candidates.first(where: { $0.arguments(of: components) != nil }) {
            return route.canonical(components)
        }
        guard case .literal(let name)? = candidates.first?.path.first else { return components }
        return [name] + components.dropFirst()
    }

    private static func candidates(_ components: [String]) -> [Route] {
        components.first.flatMap { byFirstName[$0.asciiLowercased] } ?? []
    }

    private static let byFirstName = Dictionary(grouping: all) { route in
        if case .literal(let name)? = route.path.first { name.asciiLowercased } else { "" }
    }
}
