public import ServerConfiguration

extension TransportSettings {
    /// The settings that a configuration asks for.
    ///
    /// - Throws: `AddressList.InvalidEntry` for what is no address.
    public init(_ configuration: Configuration) throws(AddressList.InvalidEntry) {
        var access = try AccessRules(applicationID: configuration.appId, masterKey: configuration.masterKey)
        access.readOnlyMasterKey = configuration.readOnlyMasterKey
        access.maintenanceKey = configuration.maintenanceKey
        access.clientKey = configuration.clientKey
        access.javascriptKey = configuration.javascriptKey
        access.dotNetKey = configuration.dotNetKey
        access.restAPIKey = configuration.restAPIKey
        access.masterKeyAddresses = try AddressList(configuration.masterKeyIps)
        access.readOnlyMasterKeyAddresses = try AddressList(configuration.readOnlyMasterKeyIps)
        access.maintenanceKeyAddresses = try AddressList(configuration.maintenanceKeyIps)
        self.init(access: access, mountPath: configuration.mountPath)
        maximumBodySize = configuration.maxUploadSize
        allowedOrigins = configuration.allowOrigin
        allowedHeaders = configuration.allowHeaders
        switch configuration.trustProxy {
        case .nobody: proxyTrust = .nobody
        case .everybody: proxyTrust = .everybody
        case .hops(let count): proxyTrust = .hops(count)
        case .addresses(let list): proxyTrust = try ProxyTrust(list: list)
        }
        publicServerURL = configuration.publicServerURL
        serverURL = configuration.serverURL
        sanitizesErrors = configuration.enableSanitizedErrorResponse
        files.upload = FileSettings.Callers(
            everybody: configuration.fileUpload.enableForPublic,
            anonymousUsers: configuration.fileUpload.enableForAnonymousUser,
            authenticatedUsers: configuration.fileUpload.enableForAuthenticatedUser)
        files.download = FileSettings.Callers(
            everybody: configuration.fileDownload.enableForPublic,
            anonymousUsers: configuration.fileDownload.enableForAnonymousUser,
            authenticatedUsers: configuration.fileDownload.enableForAuthenticatedUser)
        files.extensions =
            configuration.fileUpload.fileExtensions ?? FileSettings.extensions(preset: configuration.preset)
        files.keepsNames = configuration.preserveFileName
        files.fileKey = configuration.fileKey
    }
}

extension FileSettings {
    /// The extensions that servers of a line let clients upload.
    fileprivate static func extensions(preset: Int) -> [String] {
        switch preset {
        case ...5: ["*"]
        case 6, 7: ["^(?!([hH][tT][mM][lL]?)$)"]
        default: [defaultExtensions]
        }
    }
}
