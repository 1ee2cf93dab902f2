// The namespaces of the schema, which generated code extends.

public enum V {
}
