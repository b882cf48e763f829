import { Router } from 'express';

export function users(Parse) {
  const router = Router();
  router.get('/count', async (req, res) => {
    const count = await new Parse.Query(Parse.User).count({ useMasterKey: true });
    res.json({ count });
  });
  return router;
}
