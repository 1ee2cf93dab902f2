// The namespaces of the schema, which generated code extends.

public enum select {
  public enum table {
  }
}
