import NIOCore

enum NetworkInterfaces {
    /// Prefixes of the names of virtual interfaces, which most other machines can't reach.
    private static let virtual = ["docker", "br-", "veth", "virbr", "vmnet", "vnet", "tun", "utun", "tailscale", "wg"]

    /// Returns the IPv4 address at which other machines in the network probably reach this one, or nil if it has none.
    static func address() -> String? {
        let devices = (try? System.enumerateDevices()) ?? []
        let candidates = devices.compactMap { device -> (name: String, address: String)? in
            guard case .v4? = device.address, let address = device.address?.ipAddress,
                !address.hasPrefix("127."), !address.hasPrefix("169.254.")
            else { return nil }
            return (device.name, address)
        }
        let physical = candidates.first { candidate in !virtual.contains { candidate.name.hasPrefix($0) } }
        return (physical ?? candidates.first)?.address
    }
}
