import JSON
public import ParseModel

extension SchemaCatalog {
    /// Makes a class what a source says that it is: fields that it lacks are made; permissions are set where it has
    /// none, and indexes where it has none of their name.
    ///
    /// - Parameter outweighs: Whether the source's permissions count although the class has some.
    /// - Returns: The class as it is then.
    /// - Throws: 111 when a field exists with another type; what ``change(_:listingHandmade:_:)`` throws.
    @discardableResult
    public func adopt(_ source: ClassSchema, outweighs: Bool) async throws -> ClassSchema {
        try await change(source.name) { current in
            var schema = current ?? ClassSchema(name: source.name)
            for (name, field) in try schema.missing(source.fields) { schema.fields[name] = field }
            // Options come with the fields, where the class says nothing itself.
            for (name, field) in source.fields {
                guard let known = schema.fields[name], outweighs || (known.required == nil && known.defaultValue == nil)
                else { continue }
                schema.fields[name] = field
            }
            if let permissions = source.permissions, outweighs || schema.permissions == nil {
                schema.permissions = permissions
            }
            for (name, index) in source.indexes where schema.indexes[name] == nil { schema.indexes[name] = index }
            return schema
        }
    }
}
