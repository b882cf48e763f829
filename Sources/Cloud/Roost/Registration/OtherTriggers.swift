import CloudCode
import JSON

/// Triggers for finds, log-ins, live queries, the configuration and files.
extension Cloud {
    /// Registers a trigger that runs before objects of a class are read, also for `include` or a delete trigger. It can
    /// change the query, return results itself (not for a delete trigger), or throw to reject the request.
    public func beforeFind(
        _ className: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout FindRequest) async throws -> Void
    ) {
        register(.trigger(.beforeFind, Name(className)), requirements) { call, details in
            let query = ParseQuery(className, call.query ?? [:])
            var request = FindRequest(details: details, query: query, isGet: call.isGet, isCount: call.isCount)
            try await body(&request)
            var result = CloudResult()
            result.context = request.details.changedContext
            if let objects = request.results {
                result.found = .objects(objects.map { $0.found(in: className) })
            } else if let changes = request.query.changes(since: query) {
                result.found = .query(changes)
            }
            return result
        }
    }

    /// Registers a trigger that runs after objects of a class are found. It can change the results, or throw to reject
    /// the request.
    public func afterFind(
        _ className: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout FoundRequest) async throws -> Void
    ) {
        register(.trigger(.afterFind, Name(className)), requirements) { call, details in
            let objects = call.objects.map { ParseObject(className, json: $0) }
            var request = FoundRequest(
                details: details, query: ParseQuery(className, call.query ?? [:]), objects: objects, isGet: call.isGet)
            try await body(&request)
            var result = CloudResult()
            result.context = request.details.changedContext
            let found = request.objects.map { $0.found(in: className) }
            if found != objects.map({ $0.found(in: className) }) { result.found = .objects(found) }
            return result
        }
    }

    /// Registers a trigger that runs after a user's credentials are verified and before the session is created. Throw
    /// to reject the log-in.
    public func beforeLogin(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (LoginRequest) async throws -> Void
    ) {
        onLogin(.beforeLogin, "_User", requirements, body)
    }

    /// Registers a trigger that runs after a log-in with a password. Its errors are returned to the client, but the
    /// session remains valid.
    public func afterLogin(_ body: @escaping @Sendable (LoginRequest) async throws -> Void) {
        onLogin(.afterLogin, "_User", [], body)
    }

    /// Registers a trigger that runs after a log-out. Its errors are returned to the client.
    public func afterLogout(_ body: @escaping @Sendable (LoginRequest) async throws -> Void) {
        onLogin(.afterLogout, "_Session", [], body)
    }

    /// Registers a trigger that runs before a password-reset email is sent. Throw to reject the request.
    public func beforePasswordResetRequest(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (LoginRequest) async throws -> Void
    ) {
        onLogin(.beforePasswordResetRequest, "_User", requirements, body)
    }

    private func onLogin(
        _ event: CloudEvent, _ className: Name, _ requirements: Requirements,
        _ body: @escaping @Sendable (LoginRequest) async throws -> Void
    ) {
        register(.trigger(event, className), requirements) { call, details in
            let object = ParseObject(className.text, json: call.object ?? [:])
            try await body(LoginRequest(details: details, object: object))
            return CloudResult()
        }
    }

    /// Registers a trigger that runs before a live-query client is connected. Throw to reject the connection.
    public func beforeConnect(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (ConnectRequest) async throws -> Void
    ) {
        register(.trigger(.beforeConnect, "@Connect"), requirements) { call, details in
            try await body(ConnectRequest(details: details, members: call.params))
            return CloudResult()
        }
    }

    /// Registers a trigger that runs before a live-query subscription to a class. It can change the query, or throw to
    /// reject the subscription.
    public func beforeSubscribe(
        _ className: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout SubscribeRequest) async throws -> Void
    ) {
        register(.trigger(.beforeSubscribe, Name(className)), requirements) { call, details in
            let query = ParseQuery(className, call.query ?? [:])
            var request = SubscribeRequest(details: details, query: query)
            try await body(&request)
            var result = CloudResult()
            if request.query != query { result.found = .query(request.query.parameters) }
            return result
        }
    }

    /// Registers a trigger that runs before a live-query client is notified of a change. It can change the objects sent
    /// to the client, or drop the event.
    public func afterLiveQueryEvent(
        _ className: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (inout LiveEventRequest) async throws -> Void
    ) {
        register(.trigger(.afterEvent, Name(className)), requirements) { call, details in
            var request = LiveEventRequest(
                details: details, event: call.params["event"]?.stringValue ?? "",
                object: ParseObject(className, json: call.object ?? [:]),
                original: call.original.map { ParseObject(className, json: $0) })
            try await body(&request)
            var result = CloudResult()
            result.event = CloudResult.Event(
                isSent: request.isSent, object: request.object.json, original: request.original?.json)
            return result
        }
    }

    /// Registers a trigger that runs before the app's configuration is changed. Throw to reject the change.
    public func beforeSaveConfig(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (ConfigRequest) async throws -> Void
    ) {
        onConfig(.beforeSave, requirements, body)
    }

    /// Registers a trigger that runs after the app's configuration was changed. Its errors are returned to the client.
    public func afterSaveConfig(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (ConfigRequest) async throws -> Void
    ) {
        onConfig(.afterSave, requirements, body)
    }

    private func onConfig(
        _ event: CloudEvent, _ requirements: Requirements,
        _ body: @escaping @Sendable (ConfigRequest) async throws -> Void
    ) {
        register(.trigger(event, "@Config"), requirements) { call, details in
            try await body(
                ConfigRequest(
                    details: details, params: call.object?["params"]?.objectValue ?? [:],
                    original: call.original?["params"]?.objectValue))
            return CloudResult()
        }
    }

    /// Registers a trigger that runs before a file is stored. It can change the file, or throw to reject the upload.
    public func beforeSaveFile(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (inout FileRequest) async throws -> Void
    ) {
        onFile(.beforeSave, requirements, body)
    }

    /// Registers a trigger that runs after a file was stored. The client gets its errors, but the file remains.
    public func afterSaveFile(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (inout FileRequest) async throws -> Void
    ) {
        onFile(.afterSave, requirements, body)
    }

    /// Registers a trigger that runs before a file is deleted. Throw to reject the deletion.
    public func beforeDeleteFile(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (inout FileRequest) async throws -> Void
    ) {
        onFile(.beforeDelete, requirements, body)
    }

    /// Registers a trigger that runs after a file was deleted. Its errors are returned to the client.
    public func afterDeleteFile(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (inout FileRequest) async throws -> Void
    ) {
        onFile(.afterDelete, requirements, body)
    }

    /// Registers a trigger that runs before a file is read. Throw to reject the download.
    public func beforeFindFile(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (inout FileRequest) async throws -> Void
    ) {
        onFile(.beforeFind, requirements, body)
    }

    /// Registers a trigger that runs after a file was opened and before it is sent. Throw to reject the download.
    public func afterFindFile(
        requires requirements: Requirements = [], _ body: @escaping @Sendable (inout FileRequest) async throws -> Void
    ) {
        onFile(.afterFind, requirements, body)
    }

    private func onFile(
        _ event: CloudEvent, _ requirements: Requirements,
        _ body: @escaping @Sendable (inout FileRequest) async throws -> Void
    ) {
        register(.trigger(event, "@File"), requirements) { call, details in
            var file = call.file ?? .init(name: "")
            var request = FileRequest(
                details: details, name: file.name, url: file.url, contentType: file.contentType, bytes: file.bytes,
                metadata: file.metadata, tags: file.tags, size: file.size)
            try await body(&request)
            (file.name, file.url, file.contentType) = (request.name, request.url, request.contentType)
            (file.bytes, file.metadata, file.tags) = (request.bytes, request.metadata, request.tags)
            file.size = request.bytes?.count ?? file.size
            var result = CloudResult()
            result.file = file
            return result
        }
    }
}

extension ParseObject {
    /// Returns the object for a find's results. An object of another class includes its class name.
    fileprivate func found(in className: String) -> JSONObject {
        var json = json
        if !self.className.hasSameBytes(as: className) { json["className"] = .string(self.className) }
        return json
    }
}
