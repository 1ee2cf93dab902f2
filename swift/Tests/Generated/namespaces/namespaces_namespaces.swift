// The namespaces of the schema, which generated code extends.

public enum A {
  public enum A {
  }
}
public enum B {
  public enum C_dEf {
  }
}
public enum U8 {
}
