// The namespaces of the schema, which generated code extends.

public enum MyGame {
  public enum Sample {
  }
}
public enum Shop {
}
