#include "world/external/mapping_proxy.h"

namespace minidynamo {
Ref proxy_over(Tracer& tracer, PyObject* dict) {
  Ref proxy = Ref::steal(PyDictProxy_New(dict));
  if (ShadowContainer* shadow = tracer.world.shadow(dict); proxy && shadow) {
    tracer.world.is_shadowed_by(proxy.get(), shadow);
    tracer.identities.kept.push_back(proxy);  // its address is known from now on
  }
  return proxy;
}

}  // namespace minidynamo
