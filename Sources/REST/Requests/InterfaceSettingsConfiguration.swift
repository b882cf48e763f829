import HTTP
public import ServerConfiguration

extension InterfaceSettings {
    /// The settings that a configuration asks for.
    ///
    /// - Throws: `AddressList.InvalidEntry` for what is no address.
    public init(_ configuration: Configuration) throws(AddressList.InvalidEntry) {
        var keys = try ApplicationKeys(applicationID: configuration.appId, masterKey: configuration.masterKey)
        keys.readOnlyMasterKey = configuration.readOnlyMasterKey
        keys.maintenanceKey = configuration.maintenanceKey
        keys.clientKey = configuration.clientKey
        keys.javascriptKey = configuration.javascriptKey
        keys.dotNetKey = configuration.dotNetKey
        keys.restAPIKey = configuration.restAPIKey
        keys.masterKeyAddresses = try AddressList(configuration.masterKeyIps)
        keys.readOnlyMasterKeyAddresses = try AddressList(configuration.readOnlyMasterKeyIps)
        keys.maintenanceKeyAddresses = try AddressList(configuration.maintenanceKeyIps)
        self.init(keys: keys, mountPath: configuration.mountPath)
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
        speaksTLS = configuration.https != nil
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
