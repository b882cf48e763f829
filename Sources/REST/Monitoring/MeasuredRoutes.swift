import HTTP
public import Telemetry

/// The rows under which metrics count requests: the routes of the table, and what is answered beside it.
public enum MeasuredRoutes {
    /// What is answered beside the table.
    enum Other: Int, CaseIterable {
        case upload, download, fileDeletion, health, page

        fileprivate var row: RequestMeters.Row {
            switch self {
            case .upload: RequestMeters.Row(method: "POST", route: "/files/{name}")
            case .download: RequestMeters.Row(method: "GET", route: "/files/{applicationId}/{name}")
            case .fileDeletion: RequestMeters.Row(method: "DELETE", route: "/files/{name}")
            case .health: RequestMeters.Row(method: "GET", route: "/health")
            case .page: RequestMeters.Row(method: "GET", route: "/{page}")
            }
        }

        var number: Int { RequestMeters.firstRoute + RouteTable.all.count + rawValue }
    }

    /// The rows, in the order of their numbers.
    public static let rows: [RequestMeters.Row] =
        RouteTable.all.map { RequestMeters.Row(method: $0.method.rawValue, route: template(of: $0)) }
        + Other.allCases.map(\.row)

    /// The template of the paths that are counted in a row; nil for paths of no route.
    static func route(ofRow number: Int) -> String? {
        let index = number - RequestMeters.firstRoute
        return rows.indices.contains(index) ? rows[index].route : nil
    }

    /// The path of a route as OpenTelemetry's conventions write templates.
    static func template(of route: Route) -> String {
        route.path.map { component in
            switch component {
            case .literal(let name): "/" + name
            case .parameter(let name), .rest(let name): "/{" + (name == "class" ? "className" : name) + "}"
            }
        }.joined()
    }
}
