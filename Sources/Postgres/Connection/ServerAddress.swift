/// One server of those that a connection string names.
struct ServerAddress: Hashable {
    var host: String
    var port: String

    /// The parameters that leave some servers out of those that a connection string names; none where it names only such.
    ///
    /// - Parameter parts: What the connection string says.
    static func parameters(of parts: [(String, String)], avoiding avoided: Set<ServerAddress>) -> [(String, String)] {
        func list(_ keyword: String) -> [String] {
            let value = parts.last { $0.0 == keyword }?.1 ?? ""
            return value.isEmpty ? [] : value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let (hosts, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
        let count = max(hosts.count, addresses.count)
        let kept = (0..<count).filter { index in
            let port = ports.count > 1 ? ports[min(index, ports.count - 1)] : ports.first ?? "5432"
            let host = index < hosts.count && !hosts[index].isEmpty ? hosts[index] : addresses[index]
            return !avoided.contains(ServerAddress(host: host, port: port.isEmpty ? "5432" : port))
        }
        guard !kept.isEmpty, kept.count < count else { return [] }
        var parameters: [(String, String)] = []
        for (keyword, values) in [("host", hosts), ("hostaddr", addresses), ("port", ports)]
        where values.count == count {
            parameters.append((keyword, kept.map { values[$0] }.joined(separator: ",")))
        }
        return parameters
    }
}
