#include "world/mapping_proxy.h"

namespace minidynamo {
Ref proxy_over(Tracer& tracer, PyObject* dict) {
  Ref proxy = Ref::steal(PyDictProxy_New(dict));
  if (StandIn* stand_in = tracer.world.stand_in(dict); proxy && stand_in) {
    tracer.world.also_stands_in(proxy.get(), stand_in);
    tracer.kept_for_identity.push_back(proxy);  // its address is known from now on
  }
  return proxy;
}

}  // namespace minidynamo
